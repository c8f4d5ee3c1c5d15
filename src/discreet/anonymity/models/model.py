"""What a privacy model is: a judgement of equivalence classes by their counts.

A class that does not meet every model is suppressed; what is left is published. Two properties decide how far
a search may prune, and are tested by brute force:

    monotone in generalization   merging classes that meet the model gives one that does
    monotone in suppression      leaving out classes leaves every other one as it was judged

Ties are decided exactly, in integers or in logarithms with a proof, never by a rounded float.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Classes

Verdicts = NDArray[np.bool_]


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
