"""An attack evaluation: the attacks that apply, their findings, and the bounds on them.

Every publication (a recoded table, a synthetic one, answers) is evaluated before anything is written:
`require_bounds` stops it if a bound that the custodian set is broken. Findings are computed from real data,
so an evaluation is for the custodian only; a certificate names which attacks were run, but no result.

Which attacks apply depends on the kind of release, by what an attacker sees of it; the others are listed as
skipped, with the way to run them.

Bounds on attackers' beliefs are set by a custodian or implied by privacy models. A model bounds the belief of
an attacker who knows only quasi-identifiers. Three models compare with the table, so their bounds follow from
its counts: those are for the custodian, not for the certificate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from discreet.anonymity.models import Model, RecursiveDiversity
from discreet.anonymity.models.model_option import RequestedModel, Shares
from discreet.attacks import (
    ATTACKS,
    AttributeInference,
    Averaging,
    Differencing,
    FloatingPoint,
    GenomeMembership,
    InformedAdversary,
    Linkability,
    Reconstruction,
    Scoreboard,
    SinglingOut,
    Tracker,
)
from discreet.attacks.anonymization_criteria import Criteria
from discreet.attacks.findings import Finding, Findings
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_percent, format_percent_up
from discreet.core.errors import ModelNotMetError
from discreet.core.html_summary import build_note, build_sentence, build_summary, build_table
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy

NOTICE = (
    "For the custodian only: this report is computed on real data and says things about real people. It is "
    "not for publication."
)


class ReleaseKind(StrEnum):
    """The kind of a release, by what an attacker sees of it."""

    ANSWERS = "answers"
    TABLE = "a published table"
    RATINGS = "ratings"
    FREQUENCIES = "allele frequencies"
    SYNTHETIC = "a synthetic table"


ATTACKS_BY_KIND: dict[ReleaseKind, tuple[type[Any], ...]] = {
    ReleaseKind.ANSWERS: (
        Differencing,
        Averaging,
        Tracker,
        Reconstruction,
        InformedAdversary,
        FloatingPoint,
    ),
    ReleaseKind.RATINGS: (Scoreboard,),
    ReleaseKind.FREQUENCIES: (GenomeMembership,),
    ReleaseKind.SYNTHETIC: (SinglingOut, Linkability, AttributeInference),
}
REQUEST_HINTS = {
    ReleaseKind.ANSWERS: "name a policy.yaml in the release's place",
    ReleaseKind.TABLE: "name its file, and its quasi-identifiers or a policy",
    ReleaseKind.RATINGS: "name the title, the column of what was rated",
    ReleaseKind.FREQUENCIES: "give genomes and a reference",
    ReleaseKind.SYNTHETIC: "name a panel: people who are not in the data",
}


@dataclass(frozen=True, kw_only=True)
class AttackRun:
    """The findings of one attack, and the column it is about, if any."""

    findings: Findings
    column: str | None = None

    @property
    def is_about_people(self) -> bool:
        """True if the attack claims something about people, rather than only counting right guesses."""
        return bool(self.findings.victims) or self.findings.overall_posterior is not None

    def is_bounded_by(self, bound: BeliefBound) -> bool:
        """Return whether a bound applies to this run."""
        return self.is_about_people and bound.applies_to(self.findings.attack, self.column)


@dataclass(frozen=True, kw_only=True)
class SkippedAttack:
    """An attack that was not run, with the reason and the kind of release it applies to, if another."""

    name: str
    reason: str
    release_kind: str = ""


def skip_attack(attack: type[Any]) -> SkippedAttack:
    """Return an attack as skipped, with the way to request its kind of release."""
    kind = next((kind for kind, attacks in ATTACKS_BY_KIND.items() if attack in attacks), ReleaseKind.TABLE)
    return SkippedAttack(name=attack.name, reason=REQUEST_HINTS[kind], release_kind=kind)


def skip_other_attacks(*attacks_run: type[Any]) -> tuple[SkippedAttack, ...]:
    """Return all attacks as skipped, except those that were run."""
    return tuple(skip_attack(each) for each in ATTACKS if each not in attacks_run)


@dataclass(frozen=True, kw_only=True)
class JudgedRun:
    """A run and the bounds that apply to it."""

    run: AttackRun
    bounds: tuple[BeliefBound, ...]

    @property
    def findings(self) -> Findings:
        return self.run.findings

    @property
    def name(self) -> str:
        about = "" if self.run.column is None else f" of {self.run.column}"
        return f"{self.findings.attack}{about}"

    @property
    def best_finding(self) -> Finding | None:
        """The finding with the highest posterior above its prior, or None."""
        gained = [each for each in self.findings.victims if each.posterior > each.prior]
        return max(gained, key=lambda each: each.posterior, default=None)

    @property
    def broken_bounds(self) -> tuple[BeliefBound, ...]:
        """The bounds that the run exceeds."""
        return tuple(bound for bound in self.bounds if not bound.is_met_by(self.findings))

    @property
    def tightest_bound(self) -> BeliefBound | None:
        """The tightest bound, or None."""
        return min(self.bounds, key=lambda bound: bound.limit, default=None)

    def keeps_promise(self, promise: Promise) -> bool:
        """Return whether no claim's odds grew by more than the promise allows, up to rounding."""
        return self.findings.largest_odds_factor <= promise.gamma * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackEvaluation:
    """The attacked release, the attacker's knowledge, the judged runs, and the labels that could not be read.

    `remarks` are about the release, and precede all findings. `policy` is the release's, if it has one.
    """

    subject: str
    knowledge: str
    runs: tuple[JudgedRun, ...]
    skipped: tuple[SkippedAttack, ...] = ()
    criteria: Criteria | None = None
    promise: Promise | None = None
    assumptions: tuple[str, ...] = ()
    unreadable_labels: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    sha256: str | None = None
    policy: Policy | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Return the attacks that were run; what they found says things about real people."""
        return f"<AttackEvaluation of {self.subject}: {', '.join(self.attack_names) or 'no attack'}>"

    def _repr_html_(self) -> str:
        rows = [
            [
                each.name,
                format_percent(each.findings.success),
                format_percent(each.findings.baseline),
                "" if each.best_finding is None else format_percent_up(each.best_finding.posterior),
                "" if each.tightest_bound is None else each.tightest_bound.text,
                "broken" if each.broken_bounds else "kept" if each.bounds else "",
            ]
            for each in self.runs
        ]
        columns = ["attack", "right", "guessing", "highest belief", "bound", "verdict"]
        caption = f"Attacks on {self.subject}"
        return build_summary(
            build_table(columns, rows, caption=caption, right=columns[1:5]),
            build_sentence(f"Attackers know {self.knowledge}."),
            build_note(NOTICE),
        )

    @property
    def attack_names(self) -> tuple[str, ...]:
        """The attacks that were run, each once; this may be published."""
        return tuple(dict.fromkeys(each.findings.attack for each in self.runs))

    @property
    def broken_bounds(self) -> tuple[tuple[JudgedRun, BeliefBound], ...]:
        """The broken bounds, each with its run."""
        return tuple((tried, bound) for tried in self.runs for bound in tried.broken_bounds)

    @property
    def skipped_by_reason(self) -> dict[str, tuple[SkippedAttack, ...]]:
        """The skipped attacks by reason."""
        whys = dict.fromkeys(each.reason for each in self.skipped)
        return {why: tuple(each for each in self.skipped if each.reason == why) for why in whys}

    @property
    def strongest_run(self) -> JudgedRun | None:
        """The run with the highest belief; of several, the one with the largest gain."""
        learned = [
            (each.best_finding.posterior, each.findings.gain, each) for each in self.runs if each.best_finding
        ]
        return max(learned, key=lambda each: each[:2], default=(0, 0, None))[2]

    def require_bounds(self, *, is_forced: bool = False) -> None:
        """Raise ModelNotMetError if a bound is broken, unless publication is forced."""
        if is_forced or not self.broken_bounds:
            return
        tried, bound = self.broken_bounds[0]
        more = "" if len(self.broken_bounds) == 1 else f" ({len(self.broken_bounds)} bounds are broken)"
        raise ModelNotMetError(
            f"The attack {tried.name} comes to believe {format_percent(tried.findings.highest_posterior)}; "
            f"{bound.source_argument} allows {bound.text}{more}.",
            hint="Nothing was written. Ask for stronger models, raise the bound, or publish it all the same "
            "with `force=`, which the certificate will say.",
        )


def apply_bounds(runs: Iterable[AttackRun], bounds: Sequence[BeliefBound]) -> tuple[JudgedRun, ...]:
    """Return each run with the bounds that apply to it."""
    return tuple(
        JudgedRun(run=run, bounds=tuple(bound for bound in bounds if run.is_bounded_by(bound)))
        for run in runs
    )


@dataclass(frozen=True, kw_only=True)
class BeliefBound:
    """An upper bound on belief (exclusive if `is_strict`), for one attack or for all; `source` set it."""

    limit: float
    source: str
    attack: str | None = None
    column: str | None = None
    is_strict: bool = False

    def applies_to(self, attack: str, column: str | None) -> bool:
        """Return whether the bound applies to an attack on a column."""
        return self.attack in (None, attack) and self.column in (None, column)

    def is_met_by(self, findings: Findings) -> bool:
        """Return whether no belief exceeds the bound; both sides are one rounding of a quotient of counts."""
        return (
            findings.highest_posterior < self.limit
            if self.is_strict
            else findings.highest_posterior <= self.limit
        )

    @property
    def text(self) -> str:
        """The bound as text."""
        return f"{'below' if self.is_strict else 'at most'} {format_percent_up(self.limit)}"

    @property
    def source_argument(self) -> str:
        """The source for a message: an option, as certificates store it, is named as an argument."""
        name = self.source.removeprefix("--").replace("-", "_")
        return f"`{name}=`" if self.source.startswith("--") else self.source

    def to_json(self) -> dict[str, object]:
        """Return the bound as a JSON object."""
        return {
            "attack": self.attack,
            "column": self.column,
            "most": self.limit,
            "strict": self.is_strict,
            "by": self.source,
        }


def bound_from_json(entry: Mapping[str, object]) -> BeliefBound:
    """Return a bound from its JSON object in a certificate."""
    attack, column = entry.get("attack"), entry.get("column")
    return BeliefBound(
        limit=float(str(entry["most"])),
        source=str(entry["by"]),
        attack=None if attack is None else str(attack),
        column=None if column is None else str(column),
        is_strict=bool(entry.get("strict")),
    )


def derive_model_bounds(
    models: Iterable[Model], shares: Shares | None = None, repeated_columns: Collection[str] = ()
) -> tuple[BeliefBound, ...]:
    """Return the bounds that models imply; `shares` are each column's largest shares in the table, if usable.

    People have more than one value of the columns in `repeated_columns`. There, a model that compares counts
    of values bounds no belief about a person, except that a value which everybody has is known.

    >>> from discreet.anonymity.models import KAnonymity
    >>> [each.text for each in derive_model_bounds([KAnonymity(k=5)])]
    ['at most 20%']
    """
    return tuple(
        BeliefBound(
            attack=bound.attack,
            column=bound.column,
            limit=bound.limit,
            is_strict=bound.is_strict,
            source=model.name,
        )
        for model in models
        if isinstance(model, RequestedModel)
        and (model.column not in repeated_columns or model.bounds_repeated_values)
        for bound in model.derive_bounds(shares or {})
    )


def compute_promised_posterior(promise: Promise, prior: float) -> float:
    """Return the highest posterior of a claim about a record's value under a promise."""
    # replacing a value is one removal and one addition: twice the loss of a promise about presence
    return highest_posterior(prior, promise.loss * (2 if promise.secret is Relation.PRESENCE else 1))


def count_ruled_out_values(models: Iterable[Model]) -> dict[str, int]:
    """Return how many values per column an attacker may rule out under recursive diversity."""
    allowed: dict[str, int] = {}
    for model in models:
        if isinstance(model, RecursiveDiversity) and model.l > 2:
            allowed[model.column] = min(model.l - 2, allowed.get(model.column, model.l))
    return allowed


def bound_from_option(at_most: float | None) -> tuple[BeliefBound, ...]:
    """Return the bound that a custodian set for every attack, if any."""
    return () if at_most is None else (BeliefBound(limit=at_most, source="--at-most"),)
