"""The goal of a release: models, a recoding method, and the method's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import pyarrow as pa

from discreet.anonymity.models import KAnonymity, MInvariance, Model
from discreet.anonymity.models.model_parameters import parse_fraction, to_fraction
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms
from discreet.anonymity.search import Objective
from discreet.anonymity.search.objectives import Loss
from discreet.core.errors import RequestError, require_parameter
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


def parse_suppression_limit(suppress: object) -> Fraction:
    """Parse the fraction that may be suppressed, a number or a text: 2%, 0.02 or 1/50."""
    share = parse_fraction("suppress", suppress) if isinstance(suppress, str) else to_fraction(suppress)
    holds = share is not None and 0 <= share <= 1
    require_parameter(holds, "anonymize", "suppress", suppress, "a share from 0 to 1, such as 0.02 or '2%'")
    assert share is not None
    return share
