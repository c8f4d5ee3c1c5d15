"""How wrong answers are at the same epsilon, on the same rows, for the same neighbours and the same unit.

Questions are about the sample `census` (a person is a row), at epsilon 0.1 for the whole question. OpenDP
and SmartNoise hide presence, diffprivlib hides a value with the number of rows known; ours is asked under the
same secret. An answer that is not given counts as infinitely wrong. MEDIAN answers in whole years, so its
figure is the mean absolute error; all others are median absolute errors. By class, the figure is that of the
middle class, and the ratio of the worst class stands beside it.

The bar is the best peer that the audit does not catch: at epsilon 1, an event is counted on two neighbouring
tables, and a peer is caught where even the lower confidence bound of the loss is above 1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import answers
from benchmarks.answers import QUESTIONS, Asked, Floats
from benchmarks.peers import environments, task
from benchmarks.peers.environments import DIFFPRIVLIB, OPENDP, SMARTNOISE, Peer, Progress
from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.neighbor_relations import Relation
from discreet.services import sample

ABOUT = (
    f"Median absolute error (for MEDIAN, in whole years: mean) at ε = {task.EPSILON} for the whole "
    "question, on the sample `census`, a person a row, under the secret that the peer keeps. By class: the "
    "middle class, and the worst ratio of any, each with its standard error. The bar is 1.05× the best peer "
    "that the audits below do not catch: met if no ratio is above it, missed if one is by three standard "
    "errors, else undecided. † marks a peer that is caught, – a question to which it has no answer. An audit "
    "that does not catch shows no more than that."
)
HEADINGS = (
    "question",
    "secret",
    "discreet",
    "OpenDP",
    "SmartNoise",
    "diffprivlib",
    "ours / best not caught",
)
PEERS = (OPENDP, SMARTNOISE, DIFFPRIVLIB)
LIMIT = 240
BAR, SURE, MISS = 1.05, 3, 1e-3
HIDES = {OPENDP: Relation.PRESENCE, SMARTNOISE: Relation.PRESENCE, DIFFPRIVLIB: Relation.VALUE}


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How wrong the answers to one question were, place by place, and how well that is known."""

    each: Floats
    doubt: Floats

    @classmethod
    def of(cls, answers: Floats, truth: Floats, *, mean: bool) -> Errors:
        missed, count = np.nan_to_num(np.abs(answers - truth), nan=np.inf, posinf=np.inf), len(answers)
        if mean:
            unseen = 3 / count  # what never happened in so many answers may have this chance, at 95%
            return cls(
                each=missed.mean(axis=0), doubt=np.maximum(missed.std(axis=0) / np.sqrt(count), unseen)
            )
        if np.all(missed == np.floor(missed)):
            # whole numbers have a median only to the next one: spread each over its unit, as grouped data
            missed = np.abs(missed + np.random.default_rng(0).uniform(-0.5, 0.5, missed.shape))
        missed = np.sort(missed, axis=0)
        ranks = (np.array([-1, 1]) * np.sqrt(count) / 2 + count / 2).astype(int)
        return cls(each=missed[count // 2], doubt=(missed[ranks[1]] - missed[ranks[0]]) / 2)

    @property
    def middle(self) -> int:
        """The place with as many better as worse ones."""
        return int(np.argsort(self.each)[self.each.size // 2])


@dataclass(frozen=True, kw_only=True)
class Theirs:
    """What one peer answered, and what its audit found."""

    answers: Mapping[str, Floats]
    audits: tuple[tuple[str, str, float], ...]
    problem: str = ""

    def stands(self, question: str) -> bool:
        return not any(found > task.AUDITED and question in _tested(about) for _, about, found in self.audits)


def _tested(about: str) -> tuple[str, ...]:
    """What an audit of a question speaks for: what is caught on the whole is caught by class too."""
    return about, f"{about} by class"


def tables(progress: Progress) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of the report, and the notes under them."""
    problems = environments.install(PEERS, progress)
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        census = sample.write_samples(Path(folder))["census"]
        theirs = {peer: _theirs(peer, census, problems[peer], progress) for peer in PEERS}
        progress("discreet: the same questions …")
        found = [_row(asked, census, theirs) for asked in QUESTIONS]
    return found, [note for peer in PEERS for note in _notes(peer, theirs[peer])]


def _theirs(peer: Peer, census: Path, problem: str, progress: Progress) -> Theirs:
    if problem:
        return Theirs(answers={}, audits=(), problem=problem)
    progress(f"{peer.name}: answers and audit …")
    told = environments.run(peer, "utility", str(census), seconds=LIMIT)
    tried = environments.run(peer, "audit", seconds=LIMIT)
    audits = tuple((each["audit"], each["about"], _loss(each)) for each in tried.found)
    found = {each["question"]: np.array(each["answers"], dtype=np.float64) for each in told.found}
    return Theirs(answers=found, audits=audits, problem=told.problem or tried.problem)


def _loss(each: Mapping[str, Any]) -> float:
    """The larger of the two ways to tell the tables apart: by the event, and by its absence."""
    hits, others, trials = each["hits"], each["neighbour_hits"], each["trials"]
    return max(
        compute_epsilon_lower_bound(hits, others, trials, error_rate=MISS / 2),
        compute_epsilon_lower_bound(trials - others, trials - hits, trials, error_rate=MISS / 2),
    )


def _row(asked: Asked, census: Path, theirs: Mapping[Peer, Theirs]) -> tuple[str, ...]:
    exact = answers.truth(asked, census)
    mean = asked.name.startswith("median")
    ours = Errors.of(answers.ours(asked, census.parent), exact, mean=mean)
    errors = {
        peer: Errors.of(_part(asked, known.answers[asked.name]), exact, mean=mean)
        for peer, known in theirs.items()
        if HIDES[peer] is asked.secret and asked.name in known.answers
    }
    place = ours.middle
    standing = [each for peer, each in errors.items() if theirs[peer].stands(asked.name)]
    cells = [
        f"{_figure(errors[peer].each[place])}{'' if theirs[peer].stands(asked.name) else ' †'}"
        if peer in errors
        else "–"
        for peer in PEERS
    ]
    shown = asked.shown or asked.sql.removeprefix("SELECT ").replace(" AS x", "").replace(" FROM census", "")
    return (
        shown.removeprefix("workclass, "),
        asked.secret.value,
        _figure(ours.each[place]),
        *cells,
        _against(ours, standing) if standing else "every peer is caught" if errors else "no peer answered",
    )


def _against(ours: Errors, standing: list[Errors]) -> str:
    """The ratio to the best of each class: in the middle one and the worst, with its standard error."""
    if not ours.each.any() and not any(each.each.any() for each in standing):
        return "both exact"
    places = np.arange(ours.each.size)
    best = np.argmin([each.each for each in standing], axis=0)
    least, doubt = (
        np.array([getattr(standing[k], name)[i] for i, k in zip(places, best, strict=True)])
        for name in ("each", "doubt")
    )
    # a peer that was never wrong in so many answers may still be wrong as often as its doubt says
    ratios, spread = _ratios(ours, np.maximum(least, doubt), doubt)
    verdict = "met" if np.all(ratios <= BAR) else "undecided"
    verdict = "**missed**" if np.any(ratios - SURE * spread > BAR) else verdict
    shown = [f"{ratios[ours.middle]:.2f}× ± {spread[ours.middle]:.2f}"]
    if ratios.size > 1:
        worst = int(np.argmax(ratios))
        shown.append(f"worst class {ratios[worst]:.2f}× ± {spread[worst]:.2f}")
    return f"{', '.join(shown)}: {verdict}"


def _ratios(ours: Errors, least: Floats, doubt: Floats) -> tuple[Floats, Floats]:
    """Ratios and their standard errors; where neither answers more often than not, they are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(ours.each == least, 1.0, ours.each / least)
        spread = ratios * np.hypot(ours.doubt / ours.each, doubt / least)
    return ratios, np.nan_to_num(spread)


def _notes(peer: Peer, known: Theirs) -> list[str]:
    name = f"{peer.name} {peer.version}"
    lines = [f"{name}: {known.problem}."] if known.problem else []
    for audit, _, found in known.audits:
        verdict = "† caught" if found > task.AUDITED else "not caught"
        lines.append(f"{name}, {audit}: ε at least {found:.2f} where {task.AUDITED:g} is claimed; {verdict}.")
    return lines


def _figure(error: float) -> str:
    return "∞" if np.isinf(error) else f"{error:,.3g}" if error < 1000 else f"{error:,.0f}"


def _part(asked: Asked, answers: Floats) -> Floats:
    """The columns of one measure where a question has three."""
    if asked.part == "x":
        return answers
    width = len(task.CLASSES)
    first = "nsa".index(asked.part) * width
    return answers[:, first : first + width]
