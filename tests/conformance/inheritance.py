"""What a listed class may derive from: protocols, which bring what follows from it, and nothing else."""

from __future__ import annotations

from typing import Any, Generic, Protocol


def derives_from_protocols_alone(kind: Any) -> bool:
    """Whether no class stands above it that could be made by itself, whose behaviour it would inherit."""
    above = [base for base in kind.__mro__[1:] if base not in (Protocol, Generic, object)]
    return all(base.__dict__.get("_is_protocol", False) for base in above)
