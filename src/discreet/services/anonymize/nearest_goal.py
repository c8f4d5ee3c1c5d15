"""The nearest goal that can be met: a suppression limit, or the strongest parameters that hold.

The table as one class is the coarsest generalization. No generalization meets a model that it fails; the
sentence then names the strongest parameter that the whole table meets, rounded so that it is met. For a
requested posterior it names a posterior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import (
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    KAnonymity,
    Model,
    OrderedCloseness,
    ProbabilisticDiversity,
    RecursiveDiversity,
    find_strongest,
)
from discreet.anonymity.search import group_at_levels, search_lattice
from discreet.belief.wording import format_number
from discreet.services.anonymize.release_goal import ReleaseGoal

FAMILIES: dict[type, str] = {
    KAnonymity: "k",
    DistinctDiversity: "distinct",
    ProbabilisticDiversity: "probabilistic",
    EntropyDiversity: "entropy",
    EqualCloseness: "equal",
    OrderedCloseness: "ordered",
}
DIGITS = 3  # significant digits of a proposed parameter
SECONDS = 5.0  # time limit of each search
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
        return search_lattice(tuples, hierarchies, models, suppress=limit, seconds=SECONDS).best is not None

    low, high = int(suppress / FINEST), int(1 / FINEST) - 1
    if low >= high or not is_solvable(high * FINEST):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_solvable(middle * FINEST) else (middle, high)
    return high * FINEST
