"""Ask a table anything; learn about no one.

The main classes: `Curator` answers SQL under a promise, `Anonymizer` publishes a table, and `Promise` bounds
what an attacker can come to believe. ARCHITECTURE.md describes the packages behind them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.belief.promise import Promise
    from discreet.rendering.release_report import Anonymizer
    from discreet.services.curator import Curator

__all__ = ["Anonymizer", "Curator", "Promise"]

_HOMES = {
    "Anonymizer": "discreet.rendering.release_report",
    "Curator": "discreet.services.curator",
    "Promise": "discreet.belief.promise",
}


def __getattr__(name: str) -> object:
    """Import the public names on first use, so that importing one package does not load the others."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
