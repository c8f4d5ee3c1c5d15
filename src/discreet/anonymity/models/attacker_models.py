"""The three attacker models of risk thresholds: prosecutor, journalist and marketer."""

from __future__ import annotations

from enum import StrEnum

from discreet.anonymity.models.privacy_model import INFORMED_ATTACKER
from discreet.core.errors import require_parameter


class Attacker(StrEnum):
    """Prosecutor: knows that the person is in. Journalist: does not. Marketer: links as many as possible."""

    PROSECUTOR = "prosecutor"
    JOURNALIST = "journalist"
    MARKETER = "marketer"

    @property
    def sentence_opening(self) -> str:
        """The opening of a sentence about this attacker."""
        return {
            Attacker.PROSECUTOR: f"{INFORMED_ATTACKER} matches that person to a row",
            Attacker.JOURNALIST: "An attacker who looks a row up in the population picks its owner",
            Attacker.MARKETER: "An attacker who knows all quasi-identifiers and links every row is right",
        }[self]


def coerce_attacker(owner: object) -> None:
    """Check the `attacker` of a frozen dataclass and store it as an `Attacker`."""
    named = getattr(owner, "attacker")  # noqa: B009  (a frozen dataclass of any kind)
    known = [each for each in Attacker if named == each.value]
    require_parameter(bool(known), owner, "attacker", named, "prosecutor, journalist or marketer")
    object.__setattr__(owner, "attacker", known[0])
