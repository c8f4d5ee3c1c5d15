"""m-invariance: a person who stays in the table has the same m possible sensitive values in every release.

Definition  Every class has at least m rows, all with different sensitive values; and a person who is
            in this release and in the previous one is, in both, in classes of the same signature, which is
            the set of their sensitive values [XT07].
Belief      An attacker who follows a person through all releases, knowing their quasi-identifiers in each,
            believes every value with a probability of at most 1/m.
Monotone    In neither way: merged classes may repeat a value, and their signature is another.
Attacks     Stopped: homogeneity, and composition of the chained releases. Not stopped:
            composition with any other release, background knowledge, similarity, skewness, membership.
Input       The counts of this release do not show who stayed. So the earlier signature of each row's owner is
            counted as a sensitive column, named by `earlier`. Its values are texts of `format_signature`, and
            "" for a new person. Where `earlier` is None this is the first release. No counterfeit rows are
            added, unlike in [XT07]: a class that would need them is suppressed, which ends the person's
            chain.

[XT07]      Xiao & Tao, m-Invariance: towards privacy preserving re-publication, SIGMOD 2007.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.models.class_counts import (
    all_entries_hold,
    count_commonest,
    count_distinct,
    count_rows,
    find_owners,
    require_sensitive,
)
from discreet.anonymity.models.model_option import (
    CLASS_INFERENCE,
    ModelBound,
    ModelOption,
    RequestedModel,
    Shares,
    parse_fraction,
)
from discreet.anonymity.models.privacy_model import HOMOGENEITY, Floats, Verdicts, list_attacks_except
from discreet.belief.wording import format_percent_up
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import require_count

NEW = ""


@dataclass(frozen=True, kw_only=True)
class MInvariance(RequestedModel):
    """Classes of m or more different values, with the previous signature for everybody who stays."""

    column: str
    m: int
    earlier: str | None = None

    option: ClassVar[ModelOption] = ModelOption(
        name="m_invariance",
        help="COLUMN:3: the same m values in every release for each person, with `earlier=`.",
        expected="COLUMN:NUMBER",
        hint='Write `m_invariance="disease:3"`.',
        needs_file=True,
    )
    form: ClassVar[str] = "COLUMN:M"
    monotone_in_generalization: ClassVar[bool] = False
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(HOMOGENEITY)

    def __post_init__(self) -> None:
        require_count(self, "m", self.m, minimum=2)

    @property
    def name(self) -> str:
        return f"{self.m}-invariance of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"An attacker who follows a person through the chained releases, and knows nothing else, "
            f"believes any value of {self.column} with probability at most {format_percent_up(1 / self.m)}."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        sensitive = require_sensitive(classes, self.column, self.name)
        rows = count_rows(sensitive)
        unique = ((count_commonest(sensitive) == 1) & (rows >= self.m)) | (rows == 0)
        if self.earlier is None:
            return np.asarray(unique)
        earlier = require_sensitive(classes, self.earlier, self.name)
        return np.asarray(unique & all_entries_hold(earlier, _find_unchanged(sensitive, earlier)))

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        """Return the margin in m; a class that repeats a value or changed its signature counts as 0."""
        rows = count_rows(require_sensitive(classes, self.column, self.name))
        short = rows < self.m
        return np.where(self.judge(classes) | short, rows, 0).astype(float) - self.m

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object]:
        column, option = texts["column"], cls.option.argument
        m = parse_fraction(option, texts["m"])
        if m.denominator != 1:
            raise InvalidParameterError(f"{option} must be COLUMN:3 or the like; got {column}:{texts['m']}.")
        return {"column": column, "m": m.numerator}

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        yield ModelBound(attack=CLASS_INFERENCE, limit=1 / self.m, column=self.column)


def format_signature(values: Iterable[str]) -> str:
    """Return the text that denotes a class's set of sensitive values.

    >>> format_signature(["flu", "acne", "flu"])
    '["acne", "flu"]'
    """
    return json.dumps(sorted(set(values)), ensure_ascii=False)


def format_signatures(sensitive: SensitiveCounts) -> list[str]:
    """Return the signature of each class, which the next release must keep."""
    bounds = zip(sensitive.starts[:-1], sensitive.starts[1:], strict=True)
    return [format_signature(sensitive.names[code] for code in sensitive.values[a:b]) for a, b in bounds]


def _find_unchanged(sensitive: SensitiveCounts, earlier: SensitiveCounts) -> Verdicts:
    """Return whether each entry of `earlier` has the signature of its class, or marks a new person."""
    codes, starts = _encode_signatures(earlier.names, sensitive.names)
    new = np.array([name == NEW for name in earlier.names], np.bool_)[earlier.values]
    theirs = np.diff(starts)[earlier.values]
    ours = count_distinct(sensitive)[find_owners(earlier)]
    same = theirs == ours
    entries = np.flatnonzero(same & ~new)
    size = ours[entries]
    within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    then = codes[np.repeat(starts[earlier.values[entries]], size) + within]
    now = sensitive.values[np.repeat(sensitive.starts[find_owners(earlier)[entries]], size) + within]
    differ = np.bincount(np.repeat(np.arange(len(entries)), size)[then != now], minlength=len(entries))
    same[entries] = differ == 0
    return np.asarray(same | new)


def _encode_signatures(texts: tuple[str, ...], names: tuple[str, ...]) -> tuple[Integers, Integers]:
    """Return the signatures as rising codes of the column's values; -1 for a value that it lost."""
    place = {name: code for code, name in enumerate(names)}
    sets = [sorted(place.get(each, -1) for each in json.loads(text or "[]")) for text in texts]
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return np.array([code for each in sets for code in each], np.int64), starts
