"""Frequency oracles beside those of other systems: clients and server together, and the errors that result.

A peer calls a function for every client, so its time grows with their number: it is measured on some and
stated for a million.
"""

from __future__ import annotations

import numpy as np

from benchmarks.noise import seconds
from benchmarks.peers import environments
from benchmarks.peers.environments import MULTI_FREQ_LDPY, PURE_LDP, Peer, Progress
from discreet.core.randomness import Randomness
from discreet.local import HadamardResponse, KaryResponse, LocalHashing, SubsetSelection, UnaryEncoding
from discreet.local.collecting import collect
from discreet.local.pure import Pure

ABOUT = (
    "A million reports at ε = 1, randomized, counted and estimated, in seconds. Of peers, those of 20,000 "
    "clients (2,000 for 10,000 values) times 50 (500)."
)
HEADINGS = ("oracle", "values", "discreet", "bar", *(peer.name for peer in (PURE_LDP, MULTI_FREQ_LDPY)))
PEERS = (PURE_LDP, MULTI_FREQ_LDPY)
MILLION = 1_000_000
SAMPLED = {128: 20_000, 10_000: 2_000}
LIMIT = 240
REPETITIONS = 20
ORACLES: tuple[tuple[str, type[Pure], int, float], ...] = (
    ("k-RR", KaryResponse, 128, 0.06),
    ("Hadamard", HadamardResponse, 128, 0.08),
    ("OUE", UnaryEncoding, 128, 0.25),
    ("OLH", LocalHashing, 128, 1.5),
    ("subset selection", SubsetSelection, 128, 2.0),
    ("k-RR", KaryResponse, 10_000, 0.06),
    ("Hadamard", HadamardResponse, 10_000, 0.08),
    ("OLH", LocalHashing, 10_000, 1.5),
    ("OUE", UnaryEncoding, 10_000, 10.0),
)


def rows(progress: Progress) -> list[tuple[str, ...]]:
    problems = environments.install(PEERS, progress)
    told = {peer: _theirs(peer, problems[peer], progress) for peer in PEERS}
    found = []
    for name, kind, values, bar in ORACLES:
        progress(f"discreet: {name}, {values:,} values …")
        ours = _ours(kind, values)
        theirs = [_beside(told[peer].get((name, values)), ours) for peer in PEERS]
        found.append((name, f"{values:,}", f"{ours:.3g} s", f"≤ {bar:g} s", *theirs))
    return found


def notes() -> list[str]:
    """What the errors are, beside what theory says that they are."""
    shown = []
    for name, kind, values, _ in ORACLES[:5]:
        operator, measured = kind.under(1, values), []
        truth = np.arange(MILLION // 10) % values
        shares = np.bincount(truth, minlength=values) / truth.size
        for _ in range(REPETITIONS):
            raw = operator.raw(collect(operator, truth, Randomness()))
            measured.append(truth.size * float(np.mean((raw - shares) ** 2)))
        stated = operator.variance(1 / values, 1)
        error = np.std(measured, ddof=1) / np.sqrt(REPETITIONS)
        shown.append(f"{name} {np.mean(measured):.3g} ± {error:.1g} (theory {stated:.3g})")
    return [f"n·MSE of raw shares, {values} values, {REPETITIONS} repetitions: {'; '.join(shown)}."]


def _ours(kind: type[Pure], values: int) -> float:
    operator, truth = kind.under(1, values), np.arange(MILLION) % values
    many = values * MILLION > 10**9
    return seconds(
        lambda: operator.estimate(collect(operator, truth, Randomness(), threads=2 if many else 1)),
        repeat=1 if kind is UnaryEncoding and many else 5,
    )


def _theirs(peer: Peer, problem: str, progress: Progress) -> dict[tuple[str, int], float | str]:
    found: dict[tuple[str, int], float | str] = {}
    for values, clients in SAMPLED.items():
        progress(f"{peer.name}: {clients:,} clients, {values:,} values …")
        told = environments.run(peer, "oracles", str(values), str(clients), seconds=LIMIT)
        times = {each["oracle"]: each["seconds"] * MILLION / clients for each in told.found}
        for name, _, of, _ in ORACLES:
            if of == values:
                found[name, values] = times.get(name, problem or told.problem or "–")
    return found


def _beside(theirs: float | str | None, ours: float) -> str:
    if isinstance(theirs, float):
        return f"{theirs:.3g} s ({theirs / ours:,.0f}×)"
    return theirs or "–"
