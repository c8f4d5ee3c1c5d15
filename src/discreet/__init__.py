"""Ask a table anything; learn about no one.

The names that users begin with: `Curator` answers questions under a promise, `Anonymizer` publishes a table,
`Promise` says what nobody may come to believe. What stands behind them is in the rooms of ARCHITECTURE.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.app.curator import Curator
    from discreet.app.publishing.anonymizer import Anonymizer
    from discreet.belief.promise import Promise

__all__ = ["Anonymizer", "Curator", "Promise"]

_HOMES = {
    "Anonymizer": "discreet.app.publishing.anonymizer",
    "Curator": "discreet.app.curator",
    "Promise": "discreet.belief.promise",
}


def __getattr__(name: str) -> object:
    """The names that users begin with, found when they are asked for: a room does not load the others."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
