"""An attack evaluation: the attacks that apply, their findings, and the bounds on them.

Every publication (a recoded table, a synthetic one, answers) is evaluated before anything is written:
`require_bounds` stops it if a bound that the custodian set is broken. Findings are computed from real data,
so an evaluation is for the custodian only; a certificate names which attacks were run, but no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.app.trials.bounds import Bound
from discreet.attacks.attack import Finding, Findings
from discreet.attacks.criteria import Criteria
from discreet.belief import Promise
from discreet.belief.wording import format_percent
from discreet.core.errors import ModelNotMetError

NOTICE = (
    "For the custodian only: this report is computed on real data and says things about real people. It is "
    "not for publication."
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The findings of one attack, and the column it is about, if any."""

    findings: Findings
    column: str | None = None

    @property
    def about_people(self) -> bool:
        """True if the attack claims something about people, rather than only counting right guesses."""
        return bool(self.findings.victims) or self.findings.believed is not None

    def within(self, bound: Bound) -> bool:
        """Return whether a bound applies to this run."""
        return self.about_people and bound.covers(self.findings.attack, self.column)


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """An attack that was not run, with the reason and the kind of release it applies to, if another."""

    name: str
    why: str
    on: str = ""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A run and the bounds that apply to it."""

    run: Run
    bounds: tuple[Bound, ...]

    @property
    def findings(self) -> Findings:
        return self.run.findings

    @property
    def name(self) -> str:
        about = "" if self.run.column is None else f" of {self.run.column}"
        return f"{self.findings.attack}{about}"

    @property
    def best(self) -> Finding | None:
        """The finding with the highest posterior above its prior, or None."""
        gained = [each for each in self.findings.victims if each.posterior > each.prior]
        return max(gained, key=lambda each: each.posterior, default=None)

    @property
    def broken(self) -> tuple[Bound, ...]:
        """The bounds that the run exceeds."""
        return tuple(bound for bound in self.bounds if not bound.holds(self.findings))

    @property
    def cap(self) -> Bound | None:
        """The tightest bound, or None."""
        return min(self.bounds, key=lambda bound: bound.most, default=None)

    def keeps(self, promise: Promise) -> bool:
        """Return whether no claim's odds grew by more than the promise allows, up to rounding."""
        return self.findings.odds <= promise.gamma * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The attacked release, the attacker's knowledge, the judged runs, and the labels that could not be read.

    `remarks` are about the release, and precede all findings.
    """

    subject: str
    knowledge: str
    tried: tuple[Tried, ...]
    skipped: tuple[Skipped, ...] = ()
    criteria: Criteria | None = None
    promise: Promise | None = None
    assumed: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    sha256: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The attacks that were run, each once; this may be published."""
        return tuple(dict.fromkeys(each.findings.attack for each in self.tried))

    @property
    def broken(self) -> tuple[tuple[Tried, Bound], ...]:
        """The broken bounds, each with its run."""
        return tuple((tried, bound) for tried in self.tried for bound in tried.broken)

    @property
    def reasons(self) -> dict[str, tuple[Skipped, ...]]:
        """The skipped attacks by reason."""
        whys = dict.fromkeys(each.why for each in self.skipped)
        return {why: tuple(each for each in self.skipped if each.why == why) for why in whys}

    @property
    def strongest(self) -> Tried | None:
        """The run with the highest belief; of several, the one with the largest gain."""
        learned = [(each.best.posterior, each.findings.gain, each) for each in self.tried if each.best]
        return max(learned, key=lambda each: each[:2], default=(0, 0, None))[2]

    def refuse(self, *, forced: bool = False) -> None:
        """Raise ModelNotMetError if a bound is broken, unless publication is forced."""
        if forced or not self.broken:
            return
        tried, bound = self.broken[0]
        more = "" if len(self.broken) == 1 else f" ({len(self.broken)} bounds are broken)"
        raise ModelNotMetError(
            f"The attack {tried.name} comes to believe {format_percent(tried.findings.highest)}; "
            f"{bound.by} allows "
            f"{bound.said}{more}.",
            hint="Nothing was written. Ask for stronger models, raise the bound, or publish it all the same "
            "with --force, which the certificate will say.",
        )


def judged(runs: Iterable[Run], bounds: Sequence[Bound]) -> tuple[Tried, ...]:
    """Return each run with the bounds that apply to it."""
    return tuple(Tried(run=run, bounds=tuple(bound for bound in bounds if run.within(bound))) for run in runs)
