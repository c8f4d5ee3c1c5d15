"""Counters in Prometheus' text format. Labels are names of this program: routes, outcomes; never of the data.

No duration is counted: how long an engine took may tell of the data.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

HELP = {
    "discreet_requests_total": "HTTP requests by route and status.",
    "discreet_questions_total": "Questions by what became of them.",
    "discreet_logins_total": "Logins by what became of them.",
}


@dataclass(frozen=True)
class Metrics:
    """What was counted since the start."""

    _counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, **labels: str) -> None:
        with self._guard:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def text(self, **gauges: tuple[str, float]) -> str:
        """Everything, with gauges that are read when they are asked for: help and value by name."""
        with self._guard:
            counts = sorted(self._counts.items())
        lines = []
        for name, told in HELP.items():
            lines += [f"# HELP {name} {told}", f"# TYPE {name} counter"]
            lines += [f"{name}{_labels(labels)} {n}" for (known, labels), n in counts if known == name]
        for name, (told, value) in gauges.items():
            lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
