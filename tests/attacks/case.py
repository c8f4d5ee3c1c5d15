"""What an attack shows for itself: it wins where nothing is protected, and not where something is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.attacks.findings import Findings


@dataclass(frozen=True, kw_only=True)
class Case:
    """An attack, run on data without protection and on the same data with it, in a folder to write to."""

    attack: type[Any]
    unprotected: Callable[[Path], Findings]
    protected: Callable[[Path], Findings]
