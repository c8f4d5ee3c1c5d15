"""The request of an attack, shared by `discreet attack`, `POST /api/attacks` and Python.

Fields are typed. Where a command line or a JSON body can only give text ("zip,age", "name=Joe", "30%"), the
validators here parse it, so that every frontend has the same syntax and the same refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from discreet.attacks import Fact
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.services.attack.belief_bounds import BeliefBound
from discreet.services.request_fields import split_names

CONDITION_SEPARATOR = " if "


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column.strip() or not value.strip():
        raise RequestError(f"{option} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column.strip(), value.strip()


def _accept_pairs(option: str) -> BeforeValidator:
    """Return a validator that accepts a mapping, or texts such as name=Joe."""

    def parse(value: Mapping[str, object] | Iterable[str] | str | None) -> dict[str, str] | None:
        if value is None:
            return None
        if isinstance(value, Mapping):
            return {name: str(each) for name, each in value.items()}
        return dict(
            _parse_pair(option, each) for each in (value.split(",") if isinstance(value, str) else value)
        )

    return BeforeValidator(parse)


def _accept_text(option: str, parse: Callable[[str, str], float]) -> BeforeValidator:
    """Return a validator that accepts a number, or its text as typed."""
    return BeforeValidator(lambda value: None if value is None else parse(option, str(value)))


def _accept_path(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: split_names(value) if value is None or isinstance(value, str) else value),
]
FileName = Annotated[str, BeforeValidator(_accept_path)]
OptionalFile = Annotated[str | None, BeforeValidator(_accept_path)]


class AttackRequest(BaseModel):
    """The release to attack, and what attackers know; which fields apply depends on the kind of release."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    release: FileName
    policy: Path | None = None
    table: str | None = None
    knows: OptionalFile = None
    victim: Annotated[Mapping[str, str] | None, _accept_pairs("--victim")] = None
    earlier: OptionalFile = None
    quasi: Names = ()
    sensitive: Names = ()
    hierarchies: Annotated[Mapping[str, str], _accept_pairs("--hierarchy")] = {}
    # the register's names of columns of the release, and of the earlier release
    columns: Annotated[Mapping[str, str], _accept_pairs("--column")] = {}
    earlier_columns: Annotated[Mapping[str, str], _accept_pairs("--earlier-column")] = {}
    rules_out: tuple[str, ...] = ()
    base_rates: tuple[str, ...] = ()
    at_most: Annotated[float | None, _accept_text("--at-most", parse_probability)] = None
    posterior: Annotated[float | None, _accept_text("--posterior", parse_probability)] = None
    claim: str | None = None
    person: str | None = None
    title: str | None = None
    rating: str | None = None
    date: str | None = None
    days: int | None = None
    stars: Annotated[float | None, _accept_text("--stars", parse_number)] = None
    wrong: Annotated[float | None, _accept_text("--wrong", parse_probability)] = None
    genomes: OptionalFile = None
    reference: OptionalFile = None
    panel: OptionalFile = None
    people: int | None = None
    epsilon: Annotated[float | None, _accept_text("--epsilon", parse_number)] = None
    original: OptionalFile = None
    victims: int | None = None
    engine: str | None = None

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> AttackRequest:
        """Return the request for fields as a frontend has them, texts included.

        >>> AttackRequest.parse({"release": "r.csv", "quasi": "zip,age", "at_most": "30%"}).quasi
        ('zip', 'age')
        """
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            # pydantic wraps every ValueError, and InvalidParameterError is one: its sentence is for the user
            reason = error.errors()[0].get("ctx", {}).get("error")
            raise (reason if isinstance(reason, RequestError) else error) from None

    @property
    def bounds(self) -> tuple[BeliefBound, ...]:
        """The highest belief allowed for any attack, by the option that sets it."""
        if self.at_most is not None and self.posterior is not None:
            raise RequestError("--at-most and --posterior set the same bound.", hint="Give one of them.")
        limits = {"--at-most": self.at_most, "--posterior": self.posterior}
        return tuple(
            BeliefBound(limit=limit, source=option) for option, limit in limits.items() if limit is not None
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
