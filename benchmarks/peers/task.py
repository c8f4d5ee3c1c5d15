"""What every peer is asked, and how it reports: one JSON object a line, so that a time limit keeps the rest.

Speed       `speed VISITS`: person-level COUNT, SUM and AVG of spend by 1,001 cities, at most 5 rows (or 5
            cities of 2 rows) a person. Data is loaded in the form that the peer likes best, untimed.
Utility     `utility CENSUS`: COUNT, SUM and AVG of hours and MEDIAN of age, whole and by class of work, as
            far as the peer can answer them, each again and again at the same epsilon in all.
Oracles     `oracles VALUES CLIENTS`: randomize and estimate shares at epsilon 1, with each oracle it has.
Audit       `audit`: how often an event happens on each of two neighbouring tables, at epsilon 1.

Standard library alone: this is imported inside every peer's environment.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable

CITIES = [f"city {i}" for i in range(1001)]
SPEND = (0.0, 500.0)
MOST_CITIES, MOST_ROWS, EACH_CITY = 5, 5, 2
LEAK = 1e-7

CLASSES = (
    "?",
    "Federal-gov",
    "Local-gov",
    "Never-worked",
    "Private",
    "Self-emp-inc",
    "Self-emp-not-inc",
    "State-gov",
    "Without-pay",
)
HOURS, AGES = (1, 99), (17, 90)
EPSILON = 0.1
REPEATS, SECONDS = 2000, 15.0
AUDITED, TRIALS = 1.0, 2000
CLEAR, MOST_CLIENTS = 1.0, 300_000

Answer = Callable[[], list[float]]
Event = Callable[[], bool]


def timed(ask: Callable[[], object], times: int = 3, enough: float = 60.0) -> None:
    """The first is the warm-up; all are reported, the reader takes the quickest. A slow one is asked less."""
    began = time.perf_counter()
    for _ in range(times):
        start = time.perf_counter()
        ask()
        report(seconds=time.perf_counter() - start)
        if time.perf_counter() - began > enough:
            break


def repeated(questions: Iterable[tuple[str, Answer]]) -> None:
    """Answers to each question, until there are enough or the time is up."""
    for name, ask in questions:
        start = time.perf_counter()
        answers: list[list[float]] = []
        while len(answers) < REPEATS and time.perf_counter() - start < SECONDS:
            answers.append(ask())
        report(question=name, answers=answers)


def audited(name: str, about: str, event: Event, neighbour: Event, trials: int = TRIALS) -> None:
    """How often the event happens on one table and on its neighbour; `about` is the question it tests."""
    hits, others = (sum(bool(each()) for _ in range(trials)) for each in (event, neighbour))
    report(audit=name, about=about, hits=hits, neighbour_hits=others, trials=trials)


def collected(name: str, collect: Callable[[int], object], clients: int) -> None:
    """Processor seconds of an oracle with so many clients, and of each one more, once it is compiled.

    Four times as many again, as long as they take so little that the difference would be noise.
    """
    collect(10)
    all_of_them = _spent(collect, clients)
    while all_of_them < CLEAR and clients < MOST_CLIENTS:
        clients *= 4
        all_of_them = _spent(collect, clients)
    each = (all_of_them - _spent(collect, clients // 10)) / (clients - clients // 10)
    report(oracle=name, clients=clients, seconds=all_of_them, each=each)


def _spent(collect: Callable[[int], object], clients: int) -> float:
    start = time.process_time()
    collect(clients)
    return time.process_time() - start


def report(**found: object) -> None:
    print(json.dumps(found), flush=True)


def main(**verbs: Callable[..., None]) -> None:
    verbs[sys.argv[1]](*sys.argv[2:])
