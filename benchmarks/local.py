"""Frequency oracles beside those of other systems: clients and server together, and the errors that result.

Times are of the processor, so that what else runs does not count. A peer calls a function for every client,
so that its time grows with their number: it is measured on some, and on a tenth of them, and extrapolated.
"""

from __future__ import annotations

import time
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from benchmarks.peers import environments
from benchmarks.peers.environments import MULTI_FREQ_LDPY, PURE_LDP, Peer, Progress
from discreet.core.randomness import Randomness
from discreet.local import HadamardResponse, KaryResponse, LocalHashing, SubsetSelection, UnaryEncoding
from discreet.local.frequency_oracles import PureFrequencyOracle
from discreet.local.report_formats import BitFormat, ReportCounts
from discreet.mechanisms.sampling import Integers

PEERS = (PURE_LDP, MULTI_FREQ_LDPY)
ABOUT = (
    "A million reports at ε = 1, randomized, counted and estimated, in processor seconds. Of peers, those of "
    "20,000 clients or more (2,000 for 10,000 values) are extrapolated; of OUE with 10,000 values, ours of "
    "100,000. The bar is how many times faster than the faster peer."
)
HEADINGS = ("oracle", "values", "discreet", *(peer.name for peer in PEERS), "faster by", "bar")
MILLION = 1_000_000
SAMPLED = {128: 20_000, 10_000: 2_000}
LIMIT = 240
WORDS_PER_BATCH = 1 << 22  # words of reports held in memory at a time
REPETITIONS = 20
ORACLES: tuple[tuple[str, type[PureFrequencyOracle], int, int, str], ...] = (
    ("k-RR", KaryResponse, 128, MILLION, "15×"),
    ("Hadamard", HadamardResponse, 128, MILLION, "70×"),
    ("OUE", UnaryEncoding, 128, MILLION, "16×"),
    ("OLH", LocalHashing, 128, MILLION, "45×"),
    ("subset selection", SubsetSelection, 128, MILLION, "5×"),
    ("k-RR", KaryResponse, 10_000, MILLION, ""),
    ("Hadamard", HadamardResponse, 10_000, MILLION, ""),
    ("OLH", LocalHashing, 10_000, MILLION, ""),
    ("OUE", UnaryEncoding, 10_000, MILLION // 10, "22×"),
)


def rows(progress: Progress) -> list[tuple[str, ...]]:
    problems = environments.install(PEERS, progress)
    told = {peer: _theirs(peer, problems[peer], progress) for peer in PEERS}
    found = []
    for name, kind, values, clients, bar in ORACLES:
        progress(f"discreet: {name}, {values:,} values …")
        ours = _ours(kind, values, clients)
        theirs = [told[peer].get((name, values), "–") for peer in PEERS]
        times = [each for each in theirs if isinstance(each, float)]
        faster = f"{min(times) / ours:,.0f}×" if times else ""
        shown = [f"{each:,.3g} s" if isinstance(each, float) else each for each in theirs]
        found.append((name, f"{values:,}", f"{ours:.3g} s", *shown, faster, bar))
    return found


def notes() -> list[str]:
    """What the errors are, beside what theory says that they are."""
    shown = []
    for name, kind, values, _, _ in ORACLES[:5]:
        operator, measured = kind.for_epsilon(1, values), []
        truth = np.arange(MILLION // 10) % values
        shares = np.bincount(truth, minlength=values) / truth.size
        for _ in range(REPETITIONS):
            raw = operator.estimate_raw_shares(_randomize_and_count(operator, truth))
            measured.append(truth.size * float(np.mean((raw - shares) ** 2)))
        error = np.std(measured, ddof=1) / np.sqrt(REPETITIONS)
        stated = operator.variance(1 / values, 1)
        shown.append(f"{name} {np.mean(measured):.3g} ± {error:.1g} (theory {stated:.3g})")
    return [f"n·MSE of raw shares, 128 values, {REPETITIONS} repetitions: {'; '.join(shown)}."]


def _ours(kind: type[PureFrequencyOracle], values: int, clients: int) -> float:
    operator, truth = kind.for_epsilon(1, values), np.arange(clients) % values
    operator.estimate(_randomize_and_count(operator, truth[:10]))
    times = []
    for _ in range(3):
        start = time.process_time()
        operator.estimate(_randomize_and_count(operator, truth))
        times.append(time.process_time() - start)
    return sorted(times)[1] * MILLION / clients


def _randomize_and_count(operator: PureFrequencyOracle, truth: Integers) -> ReportCounts:
    """Randomize and count in batches of clients, so that the reports are never all in memory."""
    form = operator.report_format
    size = WORDS_PER_BATCH // (form.word_count if isinstance(form, BitFormat) else 1)
    batches = (truth[start : start + size] for start in range(0, truth.size, size))
    return reduce(add, (form.count(operator.randomize(batch, Randomness())) for batch in batches))


def _theirs(peer: Peer, problem: str, progress: Progress) -> dict[tuple[str, int], float | str]:
    found: dict[tuple[str, int], float | str] = {}
    for values, clients in SAMPLED.items():
        progress(f"{peer.name}: {clients:,} clients, {values:,} values …")
        told = environments.run(peer, "oracles", str(values), str(clients), seconds=LIMIT)
        times = {each["oracle"]: _of_a_million(each) for each in told.found}
        for name, _, of, _, _ in ORACLES:
            if of == values:
                found[name, values] = times.get(name, problem or told.problem or "–")
    return found


def _of_a_million(told: dict[str, Any]) -> float:
    seconds: float = told["seconds"] + told["each"] * (MILLION - told["clients"])
    return seconds
