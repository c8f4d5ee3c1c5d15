"""The request of `discreet attack`, and the parsing of its options: names, victims, facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.attacks import Fact
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.services.attack.belief_bounds import BeliefBound
from discreet.services.name_lists import split_names

CONDITION_SEPARATOR = " if "


@dataclass(frozen=True, kw_only=True)
class AttackRequest:
    """An attack request as typed."""

    release: str
    policy: Path | None = None
    table: str | None = None
    knows: str | None = None
    victim: str | None = None
    earlier: str | None = None
    quasi: str | None = None
    sensitive: str | None = None
    hierarchies: Sequence[str] = ()
    columns: Sequence[str] = ()
    earlier_columns: Sequence[str] = ()
    rules_out: Sequence[str] = ()
    base_rates: Sequence[str] = ()
    at_most: str | None = None
    posterior: str | None = None
    claim: str | None = None
    person: str | None = None
    title: str | None = None
    rating: str | None = None
    date: str | None = None
    days: int | None = None
    stars: str | None = None
    wrong: str | None = None
    genomes: str | None = None
    reference: str | None = None
    panel: str | None = None
    people: int | None = None
    epsilon: str | None = None
    original: str | None = None
    victims: int | None = None
    engine: str | None = None

    @property
    def quasi_names(self) -> tuple[str, ...]:
        return split_names(self.quasi)

    @property
    def sensitive_names(self) -> tuple[str, ...]:
        return split_names(self.sensitive)

    @property
    def hierarchy_files(self) -> dict[str, str]:
        return dict(_parse_pair("--hierarchy", each) for each in self.hierarchies)

    @property
    def column_names(self) -> dict[str, str]:
        """The register's names of columns of the release."""
        return dict(_parse_pair("--column", each) for each in self.columns)

    @property
    def earlier_column_names(self) -> dict[str, str]:
        """The register's names of columns of the earlier release."""
        return dict(_parse_pair("--earlier-column", each) for each in self.earlier_columns)

    @property
    def victim_values(self) -> dict[str, str] | None:
        if self.victim is None:
            return None
        return dict(_parse_pair("--victim", each) for each in self.victim.split(","))

    @property
    def bounds(self) -> tuple[BeliefBound, ...]:
        """The highest belief allowed for any attack, by the option that sets it."""
        given = {"--at-most": self.at_most, "--posterior": self.posterior}
        said = [(option, text) for option, text in given.items() if text is not None]
        if len(said) > 1:
            raise RequestError("--at-most and --posterior set the same bound.", hint="Give one of them.")
        return tuple(
            BeliefBound(limit=parse_probability(option, text), source=option) for option, text in said
        )

    def parse_facts(self, sensitive: Sequence[str]) -> dict[str, tuple[Fact, ...]]:
        """Return the facts about the values of each sensitive column."""
        found: dict[str, tuple[Fact, ...]] = {}
        for text in self.rules_out:
            column, fact = _parse_fact("--rules-out", text, 0.0, sensitive)
            found[column] = (*found.get(column, ()), fact)
        for text in self.base_rates:
            said, condition, where = text.partition(CONDITION_SEPARATOR)
            value, colon, times = said.rpartition(":")
            if not colon:
                raise RequestError(
                    f"--base-rate must be VALUE:TIMES; got {text}.",
                    hint='Write --base-rate "Heart Disease:0.1 if nationality=Japanese".',
                )
            rate = parse_number("--base-rate", times)
            column, fact = _parse_fact("--base-rate", value + condition + where, rate, sensitive)
            found[column] = (*found.get(column, ()), fact)
        return found


def _parse_fact(option: str, text: str, times: float, sensitive: Sequence[str]) -> tuple[str, Fact]:
    said, _, where = text.partition(CONDITION_SEPARATOR)
    column, sign, value = said.partition("=")
    if not sign and len(sensitive) != 1:
        raise RequestError(
            f"{option} must be COLUMN=VALUE where not exactly one column is sensitive; got {text}.",
            hint=f"Sensitive are {', '.join(sensitive) or 'none'}.",
        )
    if not sign:
        column, value = sensitive[0], said
    if column not in sensitive:
        raise RequestError(
            f"{option} is about {column}, which is not sensitive.",
            hint=f"Sensitive are {', '.join(sensitive) or 'none'}.",
        )
    conditions = dict(_parse_pair(option, each) for each in where.split(",")) if where else {}
    return column, Fact(value=value.strip(), times=times, where=conditions)


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column.strip() or not value.strip():
        raise RequestError(f"{option} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column.strip(), value.strip()
