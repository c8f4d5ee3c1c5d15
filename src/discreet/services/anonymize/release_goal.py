"""The goal of a release: models, a recoding method and its options; and the nearest goal that can be met.

Nearest     A suppression limit, or the strongest parameters that hold. The table as one class is the coarsest
            generalization, and none meets a model that it fails; the sentence then names the strongest
            parameter that the whole table meets, rounded so that it is met, or the posterior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import pyarrow as pa

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import (
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    KAnonymity,
    MInvariance,
    Model,
    OrderedCloseness,
    ProbabilisticDiversity,
    RecursiveDiversity,
    find_strongest,
)
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms
from discreet.anonymity.search import Objective, group_at_levels, search_lattice
from discreet.anonymity.search.objectives import Loss
from discreet.belief.wording import format_number
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_positive, require_probability


class Method(StrEnum):
    """Recoding method of the quasi-identifiers."""

    GENERALIZE = "generalize"
    LOCAL = "local"
    MONDRIAN = "mondrian"
    RELAXED = "mondrian-relaxed"
    CELLS = "cells"
    MICROAGGREGATE = "microaggregate"

    @property
    def meaning(self) -> str:
        """A short description of the method."""
        return MEANINGS[self]


MEANINGS = {
    Method.GENERALIZE: "every value of a column is shown at one level of its hierarchy",
    Method.LOCAL: "every row is generalized as little as its neighbours allow",
    Method.MONDRIAN: "the table is cut into regions that do not overlap",
    Method.RELAXED: "the table is cut into regions that may share the values at their edges",
    Method.CELLS: "single cells are blanked, all others are shown at one level",
    Method.MICROAGGREGATE: "numbers are replaced by the centre of a group of near rows",
}


SECONDS = 60.0
"""The default time limit of a search."""

APART = (Method.GENERALIZE, Method.MONDRIAN)
"""The methods whose classes do not overlap: every person matches at most one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseGoal:
    """The requirements on a release.

    `levels` fix the generalization, with 0 for columns that are not named; None means a search. `centres` are
    columns that show the mean or median of their class. `earlier` are the signatures of the previous release.
    `sampling` is the fraction of its population that the table contains, for estimates. `capping` are the
    models that keep a requested cap on the posterior. After `seconds` a search ends, and its best result is
    published as not proven best.
    """

    models: tuple[Model, ...]
    suppress: Fraction = Fraction(0)
    objective: Objective = field(default_factory=Loss)
    method: Method = Method.GENERALIZE
    weights: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    levels: Mapping[str, int] | None = None
    centres: Mapping[str, Centre] = field(default_factory=dict)
    pseudonyms: tuple[Pseudonyms, ...] = ()
    earlier: pa.Table | None = None
    sampling: float | None = None
    capping: tuple[Model, ...] = ()

    def __post_init__(self) -> None:
        searched = self.method is Method.GENERALIZE and self.levels is None
        if self.levels is not None and self.method not in (Method.GENERALIZE, Method.CELLS):
            raise self._build_idle_error("levels", "generalize and cells")
        if self.objective.name != Loss.name and not searched:
            raise self._build_idle_error("an objective", "generalize, without levels")
        if self.seconds is not None:
            require_positive("anonymize", "seconds", self.seconds)
            if not searched:
                raise self._build_idle_error("seconds", "generalize, without levels")
        if self.method not in APART and any(isinstance(model, MInvariance) for model in self.models):
            raise RequestError(
                f"anonymize: m-invariance needs classes that do not overlap, and those of the method "
                f"{self.method.value} may.",
                hint=f"Use the method {' or '.join(APART)}.",
            )
        if self.sampling is not None:
            require_probability("anonymize", "sampling", self.sampling)
        if self.method is Method.MICROAGGREGATE and self.k is None:
            raise RequestError(
                "anonymize: microaggregation needs k, the size of its groups.", hint="Give `k=5`."
            )

    @property
    def time_limit(self) -> float:
        """The most seconds that a search may take."""
        return SECONDS if self.seconds is None else self.seconds

    @property
    def k(self) -> int | None:
        """The k of k-anonymity, if it is required."""
        return max((model.k for model in self.models if isinstance(model, KAnonymity)), default=None)

    @property
    def model_names(self) -> str:
        """The names of the models, as one text."""
        return " and ".join(model.name for model in self.models)

    def _build_idle_error(self, what: str, where: str) -> RequestError:
        return RequestError(
            f"anonymize: {what} would have no effect with the method {self.method.value} in this request.",
            hint=f"It applies to the method {where}.",
        )


FAMILIES: dict[type, str] = {
    KAnonymity: "k",
    DistinctDiversity: "distinct",
    ProbabilisticDiversity: "probabilistic",
    EntropyDiversity: "entropy",
    EqualCloseness: "equal",
    OrderedCloseness: "ordered",
}
DIGITS = 3  # significant digits of a proposed parameter
TRIAL_SECONDS = 5.0  # time limit of each search for a nearest goal
FINEST = Fraction(1, 1000)  # the step of a proposed suppression limit


def describe_nearest_goal(tuples: Tuples, hierarchies: Sequence[Hierarchy], goal: ReleaseGoal) -> str:
    """Return one sentence that proposes what to request instead."""
    top = group_at_levels(tuples, hierarchies, [each.height for each in hierarchies])
    failed = [model for model in goal.models if not model.judge(top).all()]
    limit = _find_least_limit(tuples, hierarchies, goal.models, goal.suppress)
    ways = [f'allow `suppress="{format_number(100 * float(limit))}%"`'] if limit is not None else []
    capping = [model for model in failed if model in goal.capping]
    weaker = [_describe_weaker_model(model, top) for model in failed if model not in capping]
    if capping:
        weaker.append(f'ask for `posterior="{_format_reached_posterior(capping, top)}"` or more')
    if weaker:
        ways.append(" and ".join(weaker))
    return "Nearest: " + ", or ".join(ways) + "." if ways else "Ask for weaker models."


def _describe_weaker_model(model: Model, top: EquivalenceClasses) -> str:
    family = FAMILIES.get(type(model))
    if family is None:
        return f"ask for less than {model.name}"
    reached = find_strongest(top, family, model.column)
    return f"instead of {model.name} ask for at most {_format_rounded_down(Fraction(reached))} ({family})"


def _format_reached_posterior(capping: Sequence[Model], top: EquivalenceClasses) -> str:
    """Return the least cap that the whole table keeps; recursive diversity keeps only larger ones."""
    shares = [Fraction(find_strongest(top, "alpha", model.column)) for model in capping]
    highest = 100 * max(shares)
    step = _find_step(highest)
    strict = any(isinstance(model, RecursiveDiversity) for model in capping)
    steps = highest // step + 1 if strict else math.ceil(highest / step)
    return f"{_format_plain(steps * step)}%"


def _format_rounded_down(value: Fraction) -> str:
    step = min(_find_step(value), Fraction(1))
    return _format_plain(value // step * step)


def _find_step(value: Fraction) -> Fraction:
    """Return one unit of the last digit that is shown."""
    return Fraction(10) ** (math.floor(math.log10(value)) - DIGITS + 1)


def _format_plain(value: Fraction) -> str:
    """Return a decimal without separators, as an option takes it."""
    return f"{float(value):.12g}"


def _find_least_limit(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], suppress: Fraction
) -> Fraction | None:
    """Return the least limit, in tenths of a percent, under which there is a solution, or None."""

    def is_solvable(limit: Fraction) -> bool:
        return (
            search_lattice(tuples, hierarchies, models, suppress=limit, seconds=TRIAL_SECONDS).best
            is not None
        )

    low, high = int(suppress / FINEST), int(1 / FINEST) - 1
    if low >= high or not is_solvable(high * FINEST):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_solvable(middle * FINEST) else (middle, high)
    return high * FINEST
