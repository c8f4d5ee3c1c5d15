"""What a privacy model is: a judgement of equivalence classes by their counts.

A class that does not meet every model is suppressed; what is left is published. Two properties decide how far
a search may prune, and are tested by brute force:

    monotone in generalization   where every class meets the model, every class does after some are merged:
                                 with nothing suppressed, whatever is coarser than a solution is one
    monotone in suppression      merging classes never leaves more rows suppressed: under any limit, whatever
                                 is coarser than a solution is one. Where classes are judged one by one, this
                                 says that a class which meets the model does so together with any other

Where merging can bring suppressed rows back, it brings back the fewer the further the finer classes were from
the model: `most_kept` bounds what any of them can keep, so that a search may rule them out all the same.

A model about the whole table, an average, is met by what is left after all other models have spoken; it
says by `keep` which of the classes that still stand may be published. `judging.judge_all` has the order.

A missing sensitive value is judged like any other, as a value of its own. That is right only where it says
something: so it is asked of the policy (`missing: category` or `suppress`) before any model sees it.

Ties are decided exactly, in integers or in logarithms with a proof, never by a rounded float. Thresholds are
fractions: a float stands for the decimal that it prints as, so that 0.3 is 3/10.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Classes, Integers

Verdicts = NDArray[np.bool_]
Floats = NDArray[np.float64]

HOMOGENEITY = "homogeneity"
BACKGROUND_KNOWLEDGE = "background knowledge"
SIMILARITY = "similarity"
SKEWNESS = "skewness"
COMPOSITION = "composition"
MEMBERSHIP = "membership"

KNOWER = "Who knows the quasi-identifiers of a person in the table"
"""How a sentence about what a model lets an attacker believe begins."""

MEANINGS = {
    HOMOGENEITY: "All rows of a class share one sensitive value, or nearly all.",
    BACKGROUND_KNOWLEDGE: "What is known from elsewhere rules out some of a class's values.",
    SIMILARITY: "The values of a class differ and mean much the same.",
    SKEWNESS: "A value is far commoner in a class than in the table.",
    COMPOSITION: "Two releases about the same people, each safe, are joined.",
    MEMBERSHIP: "That a person is in the table is itself the secret.",
}
ATTACKS = tuple(MEANINGS)


def all_but(*stopped: str) -> tuple[str, ...]:
    """The attacks that a model does not stop which stops these."""
    return tuple(each for each in ATTACKS if each not in stopped)


class Model(Protocol):
    """One privacy model with its parameters; a frozen dataclass."""

    monotone_in_generalization: ClassVar[bool]
    monotone_in_suppression: ClassVar[bool]
    not_stopped: ClassVar[tuple[str, ...]]

    @property
    def name(self) -> str:
        """The model with its parameters, as a reader would write it: 5-anonymity."""

    @property
    def column(self) -> str | None:
        """The sensitive column that it is about, if it is about one."""

    @property
    def belief(self) -> str:
        """One sentence: what an attacker who knows the quasi-identifiers may come to believe."""

    def judge(self, classes: Classes) -> Verdicts:
        """Whether each class meets the model."""


class Measured(Model, Protocol):
    """A model that also says by how much; every listed one does."""

    def margin(self, classes: Classes) -> Floats:
        """How far each class is inside (above 0) or outside (below), in the model's own parameter.

        For reading and for ranking; `judge` decides.
        """


@runtime_checkable
class Limited(Protocol):
    """A model that is not monotone in suppression, and says how much finer classes can keep all the same."""

    def most_kept(self, classes: Classes) -> Integers:
        """The most rows of each class that classes which it can be cut into, and meet it, have together."""


@runtime_checkable
class TableModel(Protocol):
    """A model about all published classes together."""

    def keep(self, classes: Classes, standing: Verdicts) -> Verdicts:
        """Which of the classes that still stand may be published so that the model holds for them."""
