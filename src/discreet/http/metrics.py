"""Counters in the Prometheus text format. Labels are routes and outcomes, never values of the data.

No duration is recorded: the time that an engine takes may depend on the data.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

METRIC_HELP = {
    "discreet_requests_total": "HTTP requests by route and status.",
    "discreet_questions_total": "Questions by outcome.",
    "discreet_logins_total": "Logins by outcome.",
}


@dataclass(frozen=True)
class Metrics:
    """Counters since the start of the process."""

    _counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def increment(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def to_prometheus_text(self, **gauges: tuple[str, float]) -> str:
        """Return all counters, and the given gauges (help text and value by name), as text."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines = []
        for name, told in METRIC_HELP.items():
            lines += [f"# HELP {name} {told}", f"# TYPE {name} counter"]
            lines += [f"{name}{_format_labels(labels)} {n}" for (known, labels), n in counts if known == name]
        for name, (told, value) in gauges.items():
            lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _format_labels(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
