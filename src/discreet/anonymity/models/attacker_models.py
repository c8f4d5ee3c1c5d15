"""The three attacker models of risk thresholds: prosecutor, journalist and marketer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

from discreet.anonymity.models.model_option import ModelContext, ModelOption, RequestedModel, parse_fraction
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


RISK = ModelOption(
    name="risk",
    help="prosecutor:0.2, or average:journalist:0.05.",
    expected="prosecutor:0.2, average:journalist:0.05 or the like",
    hint=f"Attackers are {', '.join(Attacker)}.",
)


@dataclass(frozen=True, kw_only=True)
class RiskThreshold(RequestedModel, Protocol):
    """A bound on the risk of one attacker; for every class, or for their mean."""

    risk: Fraction
    attacker: Attacker = Attacker.PROSECUTOR

    option: ClassVar[ModelOption] = RISK

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object] | None:
        if texts["attacker"] not in list(Attacker):
            return None
        risk = parse_fraction(cls.option.argument, texts["risk"])
        return {"attacker": Attacker(texts["attacker"]), "risk": risk}

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        attacker = parameters["attacker"]
        if attacker is not Attacker.PROSECUTOR:
            context.require_population(f'`{cls.option.name}="{attacker.value}"`')
        return cls(**parameters)


def coerce_attacker(owner: object) -> None:
    """Check the `attacker` of a frozen dataclass and store it as an `Attacker`."""
    named = getattr(owner, "attacker")  # noqa: B009  (a frozen dataclass of any kind)
    known = [each for each in Attacker if named == each.value]
    require_parameter(bool(known), owner, "attacker", named, "prosecutor, journalist or marketer")
    object.__setattr__(owner, "attacker", known[0])
