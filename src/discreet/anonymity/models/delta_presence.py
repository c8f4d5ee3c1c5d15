"""δ-presence: the probability that a person of the population is in the table has two bounds.

Definition  Of the people of the population who show a class's quasi-identifiers, a fraction from delta_min
            to delta_max is in the table [NAC07].
Belief      An attacker who knows the population, and everybody's quasi-identifiers, believes that a person of
            a published class is in the table with a probability from delta_min to delta_max. A person whose
            class is suppressed, or has no rows, is believed to be absent: with delta_min above 0, publish
            without suppression, and include the classes of the population that have no rows.
Monotone    In generalization: the fraction of a merged class lies between those that were merged. Not in
            suppression: a class that breaks a bound can pull another over it.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition.

[NAC07]     Nergiz, Atzori & Clifton, Hiding the presence of individuals from shared databases, 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.class_counts import (
    compute_quotients,
    is_at_most,
    is_below,
    multiply_exactly,
    require_population,
)
from discreet.anonymity.models.model_option import (
    ModelContext,
    ModelOption,
    RequestedModel,
    coerce_share,
    format_fraction,
    parse_share,
)
from discreet.anonymity.models.privacy_model import MEMBERSHIP, Floats, Verdicts, list_attacks_except
from discreet.belief.wording import format_percent
from discreet.core.errors import InvalidParameterError, require_parameter


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(RequestedModel):
    """The fraction of every class's people who are in the table is from delta_min to delta_max."""

    delta_min: Fraction
    delta_max: Fraction

    column: ClassVar[str | None] = None
    option: ClassVar[ModelOption] = ModelOption(
        name="delta_presence",
        help="0.05:0.15, with `population=`.",
        expected="two numbers from 0 to 1 such as 0.05:0.15",
        is_repeated=False,
    )
    form: ClassVar[str] = "DELTA_MIN:DELTA_MAX"
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(MEMBERSHIP)

    def __post_init__(self) -> None:
        coerce_share(self, "delta_min")
        coerce_share(self, "delta_max")
        wanted = "at least delta_min"
        require_parameter(
            self.delta_min <= self.delta_max, self, "delta_max", format_fraction(self.delta_max), wanted
        )

    @property
    def name(self) -> str:
        return f"({format_fraction(self.delta_min)}, {format_fraction(self.delta_max)})-presence"

    @property
    def belief(self) -> str:
        return (
            f"An attacker who knows everybody in the population believes that a person of a published class "
            f"is in the table with a probability from {format_percent(float(self.delta_min))} to "
            f"{format_percent(float(self.delta_max))}."
        )

    @property
    def forbids_absent_classes(self) -> bool:
        """True if a class of the population without rows breaks the model, which suppression cannot mend."""
        return self.delta_min > 0

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        people = require_population(classes, self.name)
        enough = ~is_below(classes.sizes, people, self.delta_min)
        return enough & is_at_most(classes.sizes, people, self.delta_max)

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        """Return at most the fraction delta_max of the people of each class."""
        people = require_population(classes, self.name)
        most = multiply_exactly(people, self.delta_max.numerator) // self.delta_max.denominator
        return np.minimum(most.astype(np.int64), classes.sizes)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        part = compute_quotients(classes.sizes, require_population(classes, self.name))
        return np.minimum(part - float(self.delta_min), float(self.delta_max) - part)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        low, high = texts["delta_min"], texts["delta_max"]
        parsed = {name: parse_share(cls.option.argument, text) for name, text in texts.items()}
        if parsed["delta_min"] > parsed["delta_max"]:
            raise InvalidParameterError(
                f"{cls.option.argument} must name the smaller number first; got {low}:{high}."
            )
        return dict(parsed)

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        context.require_population(cls.option.argument)
        return cls(**parameters)
