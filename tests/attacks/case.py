"""What an attack shows for itself: it wins where nothing is protected, and not where something is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.attacks.attack import Findings


@dataclass(frozen=True, kw_only=True)
class Case:
    """An attack, run on data without protection and on the same data with it."""

    attack: type[Any]
    unprotected: Callable[[], Findings]
    protected: Callable[[], Findings]
