"""The three criteria of the European guidance, computed from attack findings, and the three attacker models.

singling out   the share of people whose match set is one row.
linkability    the share of people who are linked to their row by picking from their match set; the baseline
               picks from all rows.
inference      the share of people whose sensitive value is guessed right from their match set; the baseline
               guesses from the release as a whole. The sentence also gives the share of people about whom a
               value is believed with at least `significant` probability that the release as a whole does not
               give.

Prosecutor, journalist and marketer are defined in `discreet.anonymity.risk`, with the people of a register as
the population.

[WP216]        Article 29 Working Party, Opinion 05/2014 on anonymisation techniques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.risk.reidentification_risk import AttackerRisks, assess_risks
from discreet.attacks.attribute_disclosure import ClassInference
from discreet.attacks.claims import find_commonest
from discreet.attacks.findings import Findings
from discreet.attacks.linkage import Linkage
from discreet.attacks.match_sets import MatchSets
from discreet.core.number_checks import require_probability


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One criterion: a share of people, its baseline without the release, and a sentence.

    For inference, `learned_share` is the share about whom a value became significantly believed.
    """

    name: str
    share: float
    baseline: float
    sentence: str
    learned_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """The three criteria, with one inference for each sensitive column, and the attacker models' risks."""

    singling_out: Criterion
    linkability: Criterion
    inference: tuple[Criterion, ...]
    risks: AttackerRisks | None = None


def compute_criteria(sets: MatchSets, columns: Sequence[str], *, significant: float = 0.5) -> Criteria:
    """Return what a release allows an attacker with this knowledge."""
    require_probability("compute_criteria", "significant", significant)
    linked = Linkage().run(sets)
    return Criteria(
        singling_out=_compute_singling_out(sets),
        linkability=_compute_linkability(linked),
        inference=tuple(_compute_inference(sets, column, significant) for column in columns),
        risks=assess_risks(sets.equivalence_classes),
    )


def compute_synthetic_criteria(
    singling_out: Findings, linkability: Findings, inference: Findings
) -> Criteria:
    """Return the criteria from the three attacks on a synthetic table, with the panel as the baseline."""

    def build_criterion(name: str, found: Findings, what: str) -> Criterion:
        baseline = _format_share(found.baseline)
        others = f"{baseline} of people who are not in the data, or by one guess for everybody"
        sentence = f"{_format_share(found.success)} of the people of the data {what}; {others}."
        return Criterion(name=name, share=found.success, baseline=found.baseline, sentence=sentence)

    return Criteria(
        singling_out=build_criterion("singling out", singling_out, "are singled out"),
        linkability=build_criterion("linkability", linkability, "are linked from one source to another"),
        inference=(build_criterion("inference", inference, "have a value that is inferred correctly"),),
    )


def _compute_singling_out(sets: MatchSets) -> Criterion:
    alone = int(sets.people[sets.rows == 1].sum()) / sets.known.people
    return Criterion(
        name="singling out",
        share=alone,
        baseline=float(sets.published.rows == 1),
        sentence=f"{_format_share(alone)} of the people who are known match exactly one row.",
    )


def _compute_linkability(linkage: Findings) -> Criterion:
    share = linkage.figures["recall"]
    return Criterion(
        name="linkability",
        share=share,
        baseline=linkage.baseline,
        sentence=f"{_format_share(share)} of them are linked to their own row by picking one that matches.",
    )


def _compute_inference(sets: MatchSets, column: str, significant: float) -> Criterion:
    shares, (values, most) = sets.shares(column), find_commonest(sets.counts(column))
    learned = (most / sets.rows >= significant) & (shares[values] < significant) & (sets.people > 0)
    share = int(sets.people[learned].sum()) / sets.known.people
    guessed = ClassInference(column=column).run(sets)
    return Criterion(
        name=f"inference of {column}",
        share=guessed.success,
        baseline=guessed.baseline,
        learned_share=share,
        sentence=(
            f"For {_format_share(share)} of them, a value of {column} that fewer than "
            f"{_format_share(significant)} of all rows have is believed with {_format_share(significant)} or "
            f"more. {_format_share(guessed.success)} are guessed right; without quasi-identifiers, "
            f"{_format_share(guessed.baseline)}."
        ),
    )


def _format_share(share: float) -> str:
    return f"{np.format_float_positional(100 * share, precision=3, fractional=False, trim='-')}%"
