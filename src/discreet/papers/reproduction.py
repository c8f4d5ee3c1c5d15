"""A table or figure of a document: line by line what is printed, what is right, and why they differ.

Agrees      A printed number stands for every number that rounds to it: it agrees with one that is at most
            half a unit of its last digit away. A printed word agrees with the same word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import pyarrow as pa

from discreet.core.engine import Publisher
from discreet.papers.adult import Adult

NUMBER = re.compile(r"^(?P<digits>-?\d[\d,]*(?:\.(?P<places>\d+))?)(?:e(?P<power>-?\d+))?(?P<percent>%?)$")
SLACK = 1e-9
"""Of the unit: what the rounding of floats may add."""


class Verdict(StrEnum):
    """What comes of holding the printed beside the recomputed."""

    MATCHES = "as printed"
    DIFFERS = "differs"
    ADDED = "not printed"
    SAMPLE = "of the sample"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One printed thing. `printed` is empty where the document gives a picture, or says nothing.

    `sample` marks what was computed from the made-up census, which no printed number is about.
    """

    what: str
    recomputed: float | str
    printed: str = ""
    why: str = ""
    sample: bool = False

    @property
    def verdict(self) -> Verdict:
        if self.sample:
            return Verdict.SAMPLE
        if not self.printed:
            return Verdict.ADDED
        return Verdict.MATCHES if agrees(self.printed, self.recomputed) else Verdict.DIFFERS


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line of a figure."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure: its curves, and what its axes show."""

    x: str
    y: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A table or figure; `notes` are sentences about it as a whole."""

    name: str
    document: str
    title: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    picture: Picture | None = None

    @property
    def verdict(self) -> str:
        """One phrase about the whole."""
        verdicts = [line.verdict for line in self.lines]
        printed = [each for each in verdicts if each in (Verdict.MATCHES, Verdict.DIFFERS)]
        wrong = printed.count(Verdict.DIFFERS)
        if not printed:
            return verdicts[0].value
        return f"{wrong} of {len(printed)} differ" if wrong else Verdict.MATCHES.value


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What reproductions are made with.

    `lend` opens an engine over tables by name; `load` counts the Adult survey, once and only if it is asked
    for.
    """

    lend: Callable[[Mapping[str, pa.Table]], AbstractContextManager[Publisher]]
    load: Callable[[], Adult] = field(repr=False)

    @cached_property
    def adult(self) -> Adult:
        return self.load()


def agrees(printed: str, recomputed: float | str) -> bool:
    """
    >>> agrees("0.0238", 0.023843), agrees("71.6%", 0.71633), agrees("8.9e-6", 8.92e-6), agrees("0.32", 0.327)
    (True, True, True, False)
    >>> agrees("Cancer", "Cancer"), agrees("infinity", float("inf"))
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
