"""The three attackers of risk thresholds, by what they know and want."""

from __future__ import annotations

from enum import StrEnum

from discreet.anonymity.models.model import KNOWER
from discreet.core.errors import require


class Attacker(StrEnum):
    """Prosecutor: knows that the person is in. Journalist: does not. Marketer: wants as many as possible."""

    PROSECUTOR = "prosecutor"
    JOURNALIST = "journalist"
    MARKETER = "marketer"

    @property
    def links(self) -> str:
        """How a sentence about this attacker begins."""
        return {
            Attacker.PROSECUTOR: f"{KNOWER} takes a row for theirs",
            Attacker.JOURNALIST: "Who looks a row up in the population takes a person for its owner",
            Attacker.MARKETER: "Who links every row to somebody, knowing all quasi-identifiers, is right",
        }[self]


def keep_attacker(owner: object) -> None:
    """Check the `attacker` of a frozen dataclass and keep it as an `Attacker`."""
    named = getattr(owner, "attacker")  # noqa: B009  (a frozen dataclass of any kind)
    known = [each for each in Attacker if named == each.value]
    require(bool(known), owner, "attacker", named, "prosecutor, journalist or marketer")
    object.__setattr__(owner, "attacker", known[0])
