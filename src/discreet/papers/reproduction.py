"""A table or figure of a document: line by line the printed and recomputed values, and why they differ.

Matching    A printed number matches every number that rounds to it: at most half a unit of its last digit
            away. A printed word matches the same word.
Noise       is continuous in the documents' calculations (`ContinuousLaplace`); releases use `mechanisms`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from functools import cached_property

import pyarrow as pa

from discreet.core.engine import Publisher
from discreet.papers.adult_survey import AdultSurvey

NUMBER = re.compile(r"^(?P<digits>-?\d[\d,]*(?:\.(?P<places>\d+))?)(?:e(?P<power>-?\d+))?(?P<percent>%?)$")
SLACK = 1e-9
"""Tolerance for floating-point rounding, as a fraction of the last digit's unit."""


class Verdict(StrEnum):
    """Result of comparing the printed with the recomputed value."""

    MATCHES = "as printed"
    DIFFERS = "differs"
    ADDED = "not printed"
    SAMPLE = "of the sample"


@dataclass(frozen=True)
class ComparedValue:
    """One compared value. `printed` is empty if the document gives only a picture, or nothing.

    `is_sample` marks a value computed from the synthetic census, to which the printed numbers do not apply.
    """

    description: str
    printed: str
    recomputed: float | str
    _: KW_ONLY
    reason: str = ""
    is_sample: bool = False

    @property
    def verdict(self) -> Verdict:
        if self.is_sample:
            return Verdict.SAMPLE
        if not self.printed:
            return Verdict.ADDED
        return Verdict.MATCHES if matches_printed(self.printed, self.recomputed) else Verdict.DIFFERS


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One curve of a figure."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: its curves and the labels of its axes."""

    x: str
    y: str
    curves: tuple[Curve, ...]
    is_logarithmic: bool = False


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A reproduced table or figure; `notes` are sentences about it as a whole."""

    name: str
    document: str
    title: str
    lines: tuple[ComparedValue, ...]
    notes: tuple[str, ...] = ()
    figure: Figure | None = None

    @property
    def verdict(self) -> str:
        """Summary of all lines in one phrase."""
        verdicts = [line.verdict for line in self.lines]
        printed = [each for each in verdicts if each in (Verdict.MATCHES, Verdict.DIFFERS)]
        wrong = printed.count(Verdict.DIFFERS)
        if not printed:
            return verdicts[0].value
        return f"{wrong} of {len(printed)} differ" if wrong else Verdict.MATCHES.value


@dataclass(frozen=True, kw_only=True)
class ReproductionInputs:
    """Inputs of a reproduction.

    `open_engine` opens an engine over tables by name; `load_adult` counts the Adult survey, once and only if
    needed.
    """

    open_engine: Callable[[Mapping[str, pa.Table]], AbstractContextManager[Publisher]]
    load_adult: Callable[[], AdultSurvey] = field(repr=False)

    @cached_property
    def adult(self) -> AdultSurvey:
        return self.load_adult()


def matches_printed(printed: str, recomputed: float | str) -> bool:
    """Return True if a recomputed value rounds to the printed one.

    >>> matches_printed("0.0238", 0.023843), matches_printed("71.6%", 0.71633)
    (True, True)
    >>> matches_printed("8.9e-6", 8.92e-6), matches_printed("0.32", 0.327)
    (True, False)
    >>> matches_printed("Cancer", "Cancer"), matches_printed("infinity", float("inf"))
    (True, True)
    """
    if isinstance(recomputed, str):
        return printed == recomputed
    found = NUMBER.match(printed)
    if found is None:
        return printed == str(recomputed).replace("inf", "infinity")
    value, unit = float(found["digits"].replace(",", "")), 10.0 ** -len(found["places"] or "")
    scale = 10.0 ** int(found["power"] or 0) / (100 if found["percent"] else 1)
    return abs(recomputed / scale - value) <= unit * (0.5 + SLACK)


@dataclass(frozen=True, kw_only=True)
class ContinuousLaplace:
    """Laplace noise around 0.

    >>> ContinuousLaplace(scale=1).quantile(0.75) == math.log(2)
    True
    """

    scale: float

    def likelihood(self, output: float, truth: float) -> float:
        """Return the density of `output` given the true value `truth`."""
        return math.exp(-abs(output - truth) / self.scale) / (2 * self.scale)

    def quantile(self, p: float) -> float:
        """Return the p-quantile, for p of at least 1/2."""
        return -self.scale * math.log(2 * (1 - p))

    def probability_within(self, alpha: float) -> float:
        """Return Pr[|noise| <= alpha]."""
        return -math.expm1(-alpha / self.scale)
