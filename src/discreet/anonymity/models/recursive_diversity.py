"""Recursive (c, l)-diversity: the commonest sensitive value is not too common.

Definition  In one class let r1 >= r2 >= ... >= rm be the counts of its sensitive values. The class is
            (c, l)-diverse when  r1 < c * (rl + ... + rm);  the table is when every class is [MGKV06].
Belief      An attacker who rules out any l - 2 values still believes every remaining one with probability
            below c / (c + 1): r1 / (r1 + rl + ... + rm) < c / (c + 1), and ruling out the largest others is
            the worst case. With l - 1 values ruled out there is no such bound.
Monotone    In generalization: with T the rows of the l - 1 commonest values and n all of them, both r1 and T
            of a merged class are at most the sums of those merged, so r1 < c (n - T) adds up. Not in
            suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity, and background knowledge that rules out at most l - 2 values. Not stopped:
            more of it, similarity, skewness, composition, membership.

[MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.class_counts import (
    bound_rows_within_shares,
    compute_quotients,
    count_commonest,
    count_distinct,
    count_rows,
    is_below,
    require_sensitive,
    sum_commonest,
)
from discreet.anonymity.models.model_option import (
    CLASS_INFERENCE,
    L_DIVERSITY,
    ModelBound,
    ModelOption,
    RequestedModel,
    Shares,
    coerce_above,
    format_fraction,
    parse_fraction,
    parse_whole_number,
)
from discreet.anonymity.models.privacy_model import (
    BACKGROUND_KNOWLEDGE,
    HOMOGENEITY,
    INFORMED_ATTACKER,
    Floats,
    Verdicts,
    list_attacks_except,
)
from discreet.belief.wording import format_percent_up
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(RequestedModel):
    """Every class satisfies r1 < c * (rl + ... + rm)."""

    column: str
    c: Fraction
    l: int

    option: ClassVar[ModelOption] = L_DIVERSITY
    form: ClassVar[str] = "COLUMN:L:recursive:C"
    bounds_repeated_values: ClassVar[bool] = True
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY)

    def __post_init__(self) -> None:
        coerce_above(self, "c", 0)
        require_count(self, "l", self.l, minimum=2)

    @property
    def name(self) -> str:
        return f"recursive ({format_fraction(self.c)}, {self.l})-diversity of {self.column}"

    @property
    def belief(self) -> str:
        ruled = {0: "", 1: " and rules out one value"}.get(self.l - 2, f" and rules out {self.l - 2} values")
        return (
            f"{INFORMED_ATTACKER}{ruled} believes any other value of "
            f"{self.column} with probability below {format_percent_up(float(self.belief_bound))}."
        )

    @property
    def belief_bound(self) -> Fraction:
        """The posterior that no attacker who can rule out at most l - 2 values reaches."""
        return self.c / (self.c + 1)

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        top, rest = self._split_counts(classes)
        return is_below(top, rest, self.c)

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        """Bound the kept rows: the commonest value has less than c / (1 + c) of all rows."""
        sensitive = require_sensitive(classes, self.column, self.name)
        most = bound_rows_within_shares(classes, sensitive, 0, float(self.c / (1 + self.c)))
        return np.where(
            (count_distinct(sensitive) < self.l) & (classes.sizes == count_rows(sensitive)), 0, most
        )

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        return float(self.c) - compute_quotients(*self._split_counts(classes))

    def _split_counts(self, classes: EquivalenceClasses) -> tuple[Integers, Integers]:
        sensitive = require_sensitive(classes, self.column, self.name)
        return count_commonest(sensitive), count_rows(sensitive) - sum_commonest(sensitive, self.l - 1)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        l, c = (f"the {each} of {cls.option.argument}" for each in "lc")
        bound = parse_fraction(c, texts["c"])
        if bound == 0:
            raise InvalidParameterError(f"{c} must be above 0; got {texts['c']}.")
        return {"column": texts["column"], "l": parse_whole_number(l, texts["l"], least=2), "c": bound}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        # an attacker who rules nothing out believes no more; class inference also covers repeated values
        for attack in (CLASS_INFERENCE,) if self.l == 2 else (CLASS_INFERENCE, BACKGROUND_KNOWLEDGE):
            limit = float(self.belief_bound)
            yield ModelBound(attack=attack, limit=limit, column=self.column, is_strict=True)
