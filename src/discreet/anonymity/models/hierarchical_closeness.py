"""t-closeness, hierarchical distance: neither values nor their groups are much commoner than in the table.

Definition  The distribution of the sensitive values in every class is within t of the one in the whole input
            table, by the earth mover's distance where two values are as far from each other as the level at
            which a hierarchy gives them one label, over its height [LLV07].
Belief      The equal distances of the labels, averaged over the H levels below the top, are at most t. A
            single value may be H t commoner in a class than in the table.
Monotone    In generalization: the distance is convex, and a merged class is a mixture. Not in suppression: a
            class that is far can pull another away.
Attacks     Stopped: similarity of values that share a group, within H t. Not stopped: homogeneity, background
            knowledge, skewness, composition, membership.

[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import closeness
from discreet.anonymity.models.class_counts import require_sensitive
from discreet.anonymity.models.closeness import TCloseness
from discreet.anonymity.models.model_option import ModelContext, format_fraction
from discreet.anonymity.models.privacy_model import INFORMED_ATTACKER, SIMILARITY, list_attacks_except
from discreet.belief.wording import format_percentage_points
from discreet.core.errors import RequestError


@dataclass(frozen=True, kw_only=True)
class HierarchicalCloseness(TCloseness):
    """Every class is within t of the table, with values as far apart as their first common label is high."""

    hierarchy: Hierarchy

    form: ClassVar[str] = "COLUMN:T:hierarchical"
    not_stopped: ClassVar[tuple[str, ...]] = list_attacks_except(SIMILARITY)

    @property
    def name(self) -> str:
        return f"{format_fraction(self.t)}-closeness of {self.column}, hierarchical distance"

    @property
    def belief(self) -> str:
        most_gained = min(1.0, self.hierarchy.height * float(self.t))
        return (
            f"{INFORMED_ATTACKER} sees values of {self.column} that are, "
            f"averaged over the levels of their hierarchy, at most {format_fraction(self.t)} away "
            "from the whole "
            f"table's, so that a single value may be {format_percentage_points(most_gained)} commoner."
        )

    def measure_distances(self, classes: EquivalenceClasses) -> closeness.Distances:
        return closeness.measure_hierarchical_distances(
            require_sensitive(classes, self.column, self.name), self.hierarchy
        )

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        hierarchy = context.find_hierarchy(parameters["column"])
        if hierarchy is None:
            raise RequestError(
                f"{cls.option.argument} with the hierarchical distance needs a hierarchy of the column "
                f"{parameters['column']}.",
                hint="Declare one in the policy, or use the equal distance.",
            )
        return cls(**parameters, hierarchy=hierarchy)
