"""Neighbor relations: the pairs of tables that an attacker must not distinguish, by the secret they protect.

value       replace-one: the tables differ in the content of one person's record. They have the same size,
            which may be public, and membership is not hidden.
presence    add/remove: one person's record is there or is not. Replacing is one removal and one addition,
            so a presence guarantee of epsilon is a value guarantee of 2 epsilon, and never the other way.
"""

from __future__ import annotations

from enum import StrEnum

from discreet.core.errors import require_parameter


class Relation(StrEnum):
    """The neighbor relation that a guarantee was proven for."""

    VALUE = "value"
    PRESENCE = "presence"

    @property
    def neighbours(self) -> str:
        """The name of the relation in the literature."""
        return {Relation.VALUE: "replace-one", Relation.PRESENCE: "add/remove"}[self]

    @classmethod
    def parse(cls, owner: object, name: str, value: object) -> Relation:
        """Return the relation that a user names, by its secret or by its neighbors.

        >>> Relation.parse("Promise", "secret", "add/remove")
        <Relation.PRESENCE: 'presence'>
        """
        found = [each for each in cls if value in (each.value, each.neighbours)]
        require_parameter(
            bool(found), owner, name, repr(value), "'value' (replace-one) or 'presence' (add/remove)"
        )
        return found[0]


def coerce_relation(owner: object) -> None:
    """Check the `relation` of a frozen dataclass, and replace it by a `Relation`."""
    named = getattr(owner, "relation")  # noqa: B009  (a frozen dataclass of any kind)
    object.__setattr__(owner, "relation", Relation.parse(owner, "relation", named))
