"""An accountant that keeps up: one event more after 10,000, and what an attacker may then believe.

The past is 10,000 events that are all different, which is the hard case: equal ones are counted. The filter
and the report (a loss distribution that is kept and extended) are timed apart, each over several events of
different kinds; the slowest counts. dp-accounting does the same work in the same run, on 1,000 events.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import dp_accounting
from dp_accounting.pld import PLDAccountant

from discreet.accounting import Accountant, LossDistribution
from discreet.belief import Promise, compute_belief
from discreet.core.guarantees import GaussianDP, Guarantee, LaplaceDP, PureDP

PAST = 10_000
COMPARED = 1_000
BAR_MS = 50
NEW: tuple[Guarantee, ...] = (
    PureDP(epsilon=0.0101),
    LaplaceDP(epsilon=0.0103),
    GaussianDP(mu=0.0107),
    LaplaceDP(epsilon=0.31),
    GaussianDP(mu=0.29),
)


KINDS: tuple[Callable[[Fraction], Guarantee], ...] = (
    lambda x: PureDP(epsilon=x),
    lambda x: LaplaceDP(epsilon=x),
    lambda x: GaussianDP(mu=x),
)


def past(count: int, *, kinds: int, largest: Fraction) -> list[Guarantee]:
    """Different events, of the first kinds, of up to `largest` each."""
    return [KINDS[i % kinds](largest * Fraction(i + 1, count)) for i in range(count)]


def rows() -> list[tuple[str, str, str]]:
    """The figures of the accountant."""
    return [
        _filter_row("tail 0", Promise(0.01, 0.9999, tail=0), kinds=2),
        _filter_row("tail 1e-6", Promise(0.01, 0.9999, tail=1e-6), kinds=3),
        *_report_rows(),
        _comparison(),
    ]


def _filter_row(name: str, promise: Promise, *, kinds: int) -> tuple[str, str, str]:
    accountant = Accountant.from_events(promise, past(PAST, kinds=kinds, largest=Fraction(1, 1000)))
    accountant.limit  # noqa: B018  (computed once, at opening)
    new = [event for event in NEW if kinds == len(KINDS) or math.isfinite(event.cap)]
    return _row(
        f"filter, {name}: one more after {PAST:,} events, and belief",
        lambda event: accountant.spend(event).compute_belief(),
        new,
        times=1,
    )


def _report_rows() -> list[tuple[str, str, str]]:
    started = time.perf_counter()
    composed = LossDistribution.from_events(past(PAST, kinds=3, largest=Fraction(1, 100)))
    built = time.perf_counter() - started

    return [
        _row(
            f"report: one more after {PAST:,} different events, and belief",
            lambda event: compute_belief(0.01, composed.add_event(event), tail=1e-6),
            NEW,
        ),
        (f"report: {PAST:,} different events from scratch", f"{built:.1f} s", "once, at opening"),
    ]


def _comparison() -> tuple[str, str, str]:
    events = [LaplaceDP(epsilon=Fraction(i + 1, 100 * COMPARED)) for i in range(COMPARED)]
    started = time.perf_counter()
    LossDistribution.from_events(events)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    other = PLDAccountant()
    for event in events:
        other.compose(dp_accounting.LaplaceDpEvent(float(1 / Fraction(event.epsilon))))
    theirs = time.perf_counter() - started
    name = f"{COMPARED:,} different Laplace events from scratch"
    return name, f"{ours:.2f} s", f"{theirs / ours:.1f}x faster than dp-accounting ({theirs:.2f} s)"


def _row(
    name: str, add: Callable[[Guarantee], object], events: Sequence[Guarantee], *, times: int = 5
) -> tuple[str, str, str]:
    """The slowest of the events, each the best of `times`."""
    slowest = max(min(_timed(add, event) for _ in range(times)) for event in events) * 1e3
    return name, f"{slowest:.1f} ms", f"{BAR_MS / slowest:.1f}x below the bar of {BAR_MS} ms"


def _timed(add: Callable[[Guarantee], object], event: Guarantee) -> float:
    started = time.perf_counter()
    add(event)
    return time.perf_counter() - started


if __name__ == "__main__":
    for row in rows():
        print("  ".join(row))
