"""δ-disclosure: every sensitive value has about the same frequency in every class as in the table.

Definition  For every class and every value of the table, |ln(p / q)| < delta, with p the value's frequency in
            the class and q the one in the whole input table; natural logarithms. A class that lacks a value
            breaks it, for any delta [BS08].
Belief      For an attacker who knows a person's quasi-identifiers, every value is less than exp(delta) times
            as probable, or as improbable, as its frequency in the table: no value can be ruled out.
Monotone    In generalization: a frequency of a merged class lies between those that were merged. Not in
            suppression: a class that breaks it can pull another over the bound.
Attacks     Stopped: homogeneity and skewness, within exp(delta). Not stopped: background knowledge,
            similarity, composition, membership.
Ties        There are none: exp(delta) is irrational for a rational delta above 0. Floats decide where
            |ln(p / q)| clearly differs from delta, decimals the rest.

[BS08]      Brickell & Shmatikov, The cost of privacy, KDD 2008.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.models.class_counts import (
    all_entries_hold,
    bound_rows_within_shares,
    count_distinct,
    count_rows,
    reduce_by_class,
    require_sensitive,
)
from discreet.anonymity.models.model_option import (
    ModelBound,
    ModelOption,
    RequestedModel,
    Shares,
    bound_class_inference,
    coerce_above,
    format_fraction,
    parse_fraction,
)
from discreet.anonymity.models.privacy_model import (
    HOMOGENEITY,
    INFORMED_ATTACKER,
    SKEWNESS,
    Floats,
    Verdicts,
    list_attacks_except,
)
from discreet.belief.wording import format_number
from discreet.mechanisms.sampling import MARGIN, bound_exp


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(RequestedModel):
    """|ln(p / q)| < delta for every value in every class."""

    column: str
    delta: Fraction

    option: ClassVar[ModelOption] = ModelOption(
        name="delta_disclosure",
        help="COLUMN:1.",
        expected="COLUMN:NUMBER",
        hint='Write `delta_disclosure="disease:0.5"`.',
    )
    form: ClassVar[str] = "COLUMN:DELTA"
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY, SKEWNESS)

    def __post_init__(self) -> None:
        coerce_above(self, "delta", 0)

    @property
    def name(self) -> str:
        return f"{format_fraction(self.delta)}-disclosure of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{INFORMED_ATTACKER}, and nothing else, finds no value of "
            f"{self.column} more or less probable than its frequency in the whole table by a factor "
            f"of {format_number(float(np.exp(float(self.delta))), 4)}."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        sensitive = require_sensitive(classes, self.column, self.name)
        changes = np.abs(compute_log_ratios(sensitive))
        close = changes < float(self.delta)
        for i in np.flatnonzero(np.abs(changes - float(self.delta)) <= MARGIN):
            close[i] = self._decide_near_tie(sensitive, int(i))
        return all_entries_hold(sensitive, close) & has_every_value(sensitive)

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        sensitive = require_sensitive(classes, self.column, self.name)
        shares = sensitive.totals / max(1, int(sensitive.totals.sum()))
        factor = float(np.exp(float(self.delta)))
        return bound_rows_within_shares(classes, sensitive, shares / factor, shares * factor)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        sensitive = require_sensitive(classes, self.column, self.name)
        changes = reduce_by_class(np.maximum, sensitive.starts, np.abs(compute_log_ratios(sensitive)))
        return np.where(has_every_value(sensitive), float(self.delta) - changes, -np.inf)

    def _decide_near_tie(self, sensitive: SensitiveCounts, entry: int) -> bool:
        """Return whether the ratio of one entry, or its inverse, lies above exp(-delta)."""
        owner = int(np.searchsorted(sensitive.starts, entry, side="right")) - 1
        rows, value = int(count_rows(sensitive)[owner]), int(sensitive.values[entry])
        inside = Fraction(int(sensitive.counts[entry]), rows)
        ratio = inside * int(sensitive.totals.sum()) / int(sensitive.totals[value])
        least, digits = min(ratio, 1 / ratio), 40
        while True:
            low, high = bound_exp(self.delta, digits)
            if not low <= least <= high:
                return least > high
            digits *= 2

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        return {"column": texts["column"], "delta": parse_fraction(cls.option.argument, texts["delta"])}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        share = shares.get(self.column)
        if share is not None:
            yield bound_class_inference(self.column, share * math.exp(self.delta))


def compute_log_ratios(sensitive: SensitiveCounts) -> Floats:
    """Return ln(p / q) of every entry, with an error below 2**-45."""
    rows = np.repeat(count_rows(sensitive), count_distinct(sensitive)).astype(float)
    expected = sensitive.totals[sensitive.values] * rows / float(sensitive.totals.sum())
    return np.asarray(np.log(sensitive.counts / expected))


def has_every_value(sensitive: SensitiveCounts) -> Verdicts:
    """Return whether each class has every value of the table, or no rows at all."""
    kinds = count_distinct(sensitive)
    return np.asarray((kinds == np.count_nonzero(sensitive.totals)) | (kinds == 0))
