"""β-likeness: no sensitive value is relatively much commoner in a class than in the table.

Definition  For every class and every value with p > q: basic, (p - q) / q <= beta; enhanced, (p - q) / q <=
            min(beta, -ln q); p is the value's frequency in the class, q in the whole input table [CK12].
Belief      An attacker who knows a person's quasi-identifiers believes a value with at most 1 + beta times
            its frequency in the table; enhanced, with at most q (1 - ln q), which is below 1 for every beta.
Monotone    In generalization: a frequency of a merged class lies between those that were merged. Not in
            suppression: a class that breaks it can pull another over the bound.
Attacks     Stopped: skewness, and homogeneity of rare values. Not stopped: background knowledge (values may
            be ruled out), similarity, composition, membership; basic, homogeneity of common values.
Ties        Against beta, in integers. Against -ln q there are none: the logarithm of a rational other than 1
            is irrational. Floats decide clear cases, decimals the rest.

[CK12]      Cao & Karras, Publishing microdata with a robust privacy guarantee, VLDB 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import log
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.models.class_counts import (
    all_entries_hold,
    bound_rows_within_shares,
    count_distinct,
    count_rows,
    find_owners,
    is_at_most,
    multiply_exactly,
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
    INFORMED_ATTACKER,
    SKEWNESS,
    Floats,
    Verdicts,
    list_attacks_except,
)
from discreet.belief.wording import format_number
from discreet.core.errors import require_parameter
from discreet.mechanisms.sampling import MARGIN


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(RequestedModel):
    """No value is more than beta times its table frequency commoner; enhanced, nor -ln q times."""

    column: str
    beta: Fraction
    enhanced: bool = False

    option: ClassVar[ModelOption] = ModelOption(
        name="beta_likeness",
        help="COLUMN:2.",
        expected="COLUMN:NUMBER",
        hint='Write `beta_likeness="disease:0.5"`.',
    )
    form: ClassVar[str] = "COLUMN:BETA"
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(SKEWNESS)

    def __post_init__(self) -> None:
        coerce_above(self, "beta", 0)
        require_parameter(isinstance(self.enhanced, bool), self, "enhanced", self.enhanced, "True or False")

    @property
    def name(self) -> str:
        return (
            f"{'enhanced' if self.enhanced else 'basic'} {format_fraction(self.beta)}-likeness of "
            f"{self.column}"
        )

    @property
    def belief(self) -> str:
        also = ", and never with certainty" if self.enhanced else ""
        return (
            f"{INFORMED_ATTACKER}, and nothing else, believes any value of "
            f"{self.column} with at most {format_number(1 + float(self.beta), 4)} times its "
            "frequency in the whole "
            f"table{also}."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        sensitive = require_sensitive(classes, self.column, self.name)
        rows = np.repeat(count_rows(sensitive), count_distinct(sensitive))
        inside = multiply_exactly(sensitive.counts, int(sensitive.totals.sum()))
        expected = multiply_exactly(rows, sensitive.totals[sensitive.values])
        alike = is_at_most(inside, expected, 1 + self.beta)
        if self.enhanced:
            alike &= self._is_below_logarithm(sensitive)
        return all_entries_hold(sensitive, alike)

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        sensitive = require_sensitive(classes, self.column, self.name)
        shares = sensitive.totals / max(1, int(sensitive.totals.sum()))
        return bound_rows_within_shares(classes, sensitive, 0, (1 + float(self.beta)) * shares)

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        sensitive = require_sensitive(classes, self.column, self.name)
        gains, caps = compute_relative_gains(sensitive), np.full(len(sensitive.counts), float(self.beta))
        if self.enhanced:
            caps = np.minimum(caps, _compute_logarithms(sensitive))
        exceeded = np.full(len(classes), -np.inf)
        np.maximum.at(exceeded, find_owners(sensitive), gains - caps)
        return -exceeded

    def _is_below_logarithm(self, sensitive: SensitiveCounts) -> Verdicts:
        """Return whether (p - q) / q <= -ln q, for each entry."""
        gains, caps = compute_relative_gains(sensitive), _compute_logarithms(sensitive)
        alike = gains <= caps
        for i in np.flatnonzero(np.abs(gains - caps) <= MARGIN * (2 + gains)):
            alike[i] = _decide_near_tie(sensitive, int(i))
        return alike

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        return {"column": texts["column"], "beta": parse_fraction(cls.option.argument, texts["beta"])}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        share = shares.get(self.column)
        if share is not None:
            yield bound_class_inference(self.column, share * (1 + float(self.beta)))


def compute_relative_gains(sensitive: SensitiveCounts) -> Floats:
    """Return (p - q) / q of each entry."""
    rows = np.repeat(count_rows(sensitive), count_distinct(sensitive)).astype(float)
    expected = rows * sensitive.totals[sensitive.values] / float(sensitive.totals.sum())
    return np.asarray(sensitive.counts / expected - 1)


def _compute_logarithms(sensitive: SensitiveCounts) -> Floats:
    """Return -ln q of each entry's value."""
    total = int(sensitive.totals.sum())
    caps = np.array([log(total) - log(count) if count else np.inf for count in sensitive.totals.tolist()])
    return caps[sensitive.values]


def _decide_near_tie(sensitive: SensitiveCounts, entry: int) -> bool:
    """Return whether the gain of one entry is at most -ln q, with as many digits as it takes."""
    owner = int(np.searchsorted(sensitive.starts, entry, side="right")) - 1
    q = Fraction(int(sensitive.totals[sensitive.values[entry]]), int(sensitive.totals.sum()))
    gain = Fraction(int(sensitive.counts[entry]), int(count_rows(sensitive)[owner])) / q - 1
    digits = 40
    while q < 1:
        down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
        top, bottom = Decimal(q.denominator), Decimal(q.numerator)
        least = Fraction(down.next_minus(down.ln(down.divide(top, bottom))))
        most = Fraction(up.next_plus(up.ln(up.divide(top, bottom))))
        if not least <= gain <= most:
            return gain < least
        digits *= 2
    return gain <= 0
