"""The request of an attack: options of the command line and the HTTP body derive from its fields.

    AttackFields     what every frontend can ask for, of a release or of answers
    AttackRequest    also what names a path, or describes a file that no policy declares

Fields are typed. Where a command line or a JSON body can only give text ("zip,age", "name=Joe", "30%"), the
validators here parse it, so that every frontend has the same syntax and the same refusals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from discreet.attacks import Fact
from discreet.core.errors import InvalidParameterError, RequestError, shorten_value
from discreet.core.number_checks import parse_number
from discreet.services.addresses import SERVER_EXAMPLES
from discreet.services.attack.evaluation import BeliefBound
from discreet.services.request_fields import CommandLine, accept_probability, accept_text, split_names

CONDITION_SEPARATOR = " if "
MAX_VICTIMS = 1_000
TABLE = "A published table"
ANSWERS = "Answers, for a policy.yaml"
RATINGS = "Ratings, with --title"
FREQUENCIES = "Allele frequencies, with --genomes and --reference"
SYNTHETIC = "A synthetic table, with --panel"


def _parse_pair(argument: str, text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column.strip() or not value.strip():
        raise RequestError(f"{argument} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column.strip(), value.strip()


def _read_pairs(argument: str, value: object) -> dict[str, str]:
    """Return columns and values from a mapping, or from texts such as name=Joe."""
    if isinstance(value, Mapping):
        return {str(name): str(each) for name, each in value.items()}
    if not isinstance(value, str | Sequence):
        raise InvalidParameterError(f"{argument} must be COLUMN=VALUE; got {shorten_value(value)}.")
    texts = value.split(",") if isinstance(value, str) else value
    return dict(_parse_pair(argument, str(each)) for each in texts)


def _read_victim(value: object) -> dict[str, str]:
    found = _read_pairs("`victim=`", value)
    if not found:
        raise InvalidParameterError("`victim=` must name a person by at least one column.")
    return found


def _accept_pairs(argument: str, *, nullable: bool = False) -> tuple[Any, ...]:
    return accept_text(partial(_read_pairs, argument), nullable=nullable)


def _accept_number(argument: str) -> tuple[Any, ...]:
    return accept_text(lambda value: parse_number(argument, str(value)), nullable=True)


def _read_names(value: object) -> object:
    return split_names(value) if isinstance(value, str) else value


def _read_facts(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _read_path(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _describe_option(metavar: str, panel: str = "", *flags: str, **more: Any) -> CommandLine:
    return CommandLine(metavar=metavar, panel=panel, flags=flags, **more)


OptionalFile = Annotated[str | None, BeforeValidator(_read_path)]
Names = Annotated[tuple[str, ...], BeforeValidator(_read_names)]
Facts = Annotated[tuple[str, ...], BeforeValidator(_read_facts)]
Pairs = Mapping[str, str]


class AttackFields(BaseModel):
    """The fields of every attack: the table, the person, the claim, and the bound to compare with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Annotated[
        str | None, Field(description="The table of the policy to attack."), _describe_option("TABLE")
    ] = None
    victim: Annotated[
        Pairs | None,
        Field(description='A person in the register, "name=Joe"; or "age=28,zip=13068".'),
        *accept_text(_read_victim, nullable=True),
        _describe_option("VALUES", typed=str),
    ] = None
    at_most: Annotated[
        float | None,
        Field(description="The highest belief that any attack may reach, 30%; above it, exit code 4."),
        *accept_probability("`at_most=`"),
        _describe_option("SHARE", typed=str),
    ] = None
    rules_out: Annotated[
        Facts,
        Field(description='A value that is impossible for a group: "Heart Disease if nationality=Japanese".'),
        _describe_option("FACT", TABLE),
    ] = ()
    claim: Annotated[
        str | None,
        Field(description="The claim to test: \"disease = 'flu'\"."),
        _describe_option("SQL", ANSWERS),
    ] = None
    victims: Annotated[
        int | None,
        Field(ge=1, le=MAX_VICTIMS, description="How many people to attack; 20 by default."),
        _describe_option("N", ANSWERS, least=1, most=MAX_VICTIMS),
    ] = None


class AttackRequest(AttackFields):
    """The release to attack, and what attackers know; which fields apply depends on the kind of release."""

    release: Annotated[
        str,
        BeforeValidator(_read_path),
        Field(
            description="A published .parquet, .csv or .duckdb file (FILE.duckdb#TABLE), or a table of "
            "`engine=`; or a policy.yaml, whose answers are attacked."
        ),
        CommandLine(is_argument=True),
    ]
    policy: Annotated[
        Path | None,
        Field(description="The custodian's policy."),
        _describe_option("FILE", "", "-p", "--policy"),
    ] = None
    posterior: Annotated[
        float | None,
        Field(description="Another name for `at_most=`, as in anonymize."),
        *accept_probability("`posterior=`"),
        _describe_option("SHARE", typed=str),
    ] = None
    knows: Annotated[
        OptionalFile,
        Field(
            description="A register, such as a voter list; without it, attackers know everybody. For "
            "ratings: what attackers know."
        ),
        _describe_option("FILE", TABLE),
    ] = None
    engine: Annotated[
        str | None,
        Field(description=f"The engine that holds tables, instead of the policy's: {SERVER_EXAMPLES}."),
        _describe_option("ADDRESS", TABLE),
    ] = None
    quasi: Annotated[
        Names,
        Field(description="Quasi-identifiers: columns that attackers may know."),
        _describe_option("A,B", TABLE, typed=str),
    ] = ()
    sensitive: Annotated[
        Names,
        Field(description="Columns that attackers want to learn; also for a synthetic table."),
        _describe_option("A,B", TABLE, typed=str),
    ] = ()
    hierarchies: Annotated[
        Pairs,
        Field(description="The hierarchy of a column's labels, in ARX's format."),
        *_accept_pairs("`hierarchies=`"),
        _describe_option("COLUMN=FILE", TABLE, "--hierarchy", typed=list[str]),
    ] = {}
    person: Annotated[
        str | None,
        Field(description="The column that identifies a person's rows; also for ratings."),
        _describe_option("COLUMN", TABLE),
    ] = None
    columns: Annotated[
        Pairs,
        Field(description="The register's name of a column of the release; also for ratings."),
        *_accept_pairs("`columns=`"),
        _describe_option("RELEASE=REGISTER", TABLE, "--column", typed=list[str]),
    ] = {}
    earlier: Annotated[
        OptionalFile,
        Field(description="An earlier release about the same people."),
        _describe_option("FILE", TABLE, "--with"),
    ] = None
    earlier_columns: Annotated[
        Pairs,
        Field(description="As `columns=`, for that release."),
        *_accept_pairs("`earlier_columns=`"),
        _describe_option("RELEASE=REGISTER", TABLE, "--earlier-column", typed=list[str]),
    ] = {}
    base_rates: Annotated[
        Facts,
        Field(description='A value\'s rate relative to others: "Heart Disease:0.1 if nationality=Japanese".'),
        _describe_option("FACT", TABLE, "--base-rate"),
    ] = ()
    title: Annotated[
        str | None,
        Field(description="The item that was rated, bought or visited."),
        _describe_option("COLUMN", RATINGS),
    ] = None
    rating: Annotated[str | None, Field(description="The rating."), _describe_option("COLUMN", RATINGS)] = (
        None
    )
    date: Annotated[
        str | None, Field(description="The date of the rating."), _describe_option("COLUMN", RATINGS)
    ] = None
    days: Annotated[
        int | None,
        Field(ge=0, description="How many days dates in `knows=` may be off; 14 by default."),
        _describe_option("N", RATINGS, least=0),
    ] = None
    stars: Annotated[
        float | None,
        Field(description="How far ratings in `knows=` may be off; 0 by default."),
        *_accept_number("`stars=`"),
        _describe_option("N", RATINGS, typed=str),
    ] = None
    wrong: Annotated[
        float | None,
        Field(description="The share of `knows=` that may be wrong; 25% by default."),
        *accept_probability("`wrong=`"),
        _describe_option("SHARE", RATINGS, typed=str),
    ] = None
    genomes: Annotated[
        OptionalFile,
        Field(description="The participants' genomes, one column each."),
        _describe_option("FILE", FREQUENCIES),
    ] = None
    reference: Annotated[
        OptionalFile,
        Field(description="Allele frequencies of the general population."),
        _describe_option("FILE", FREQUENCIES),
    ] = None
    people: Annotated[
        int | None,
        Field(ge=1, description="The number of participants."),
        _describe_option("N", FREQUENCIES, least=1),
    ] = None
    epsilon: Annotated[
        float | None,
        Field(description="The epsilon of the noise in the frequencies."),
        *_accept_number("`epsilon=`"),
        _describe_option("N", FREQUENCIES, typed=str),
    ] = None
    panel: Annotated[
        OptionalFile,
        Field(description="People who are not in the data; also for a study."),
        _describe_option("FILE", SYNTHETIC),
    ] = None
    original: Annotated[
        OptionalFile, Field(description="The original table."), _describe_option("FILE", SYNTHETIC)
    ] = None

    @property
    def bounds(self) -> tuple[BeliefBound, ...]:
        """The highest belief allowed for any attack, by the option that sets it."""
        if self.at_most is not None and self.posterior is not None:
            raise RequestError("`at_most=` and `posterior=` set the same bound.", hint="Give one of them.")
        limits = {"--at-most": self.at_most, "--posterior": self.posterior}
        return tuple(
            BeliefBound(limit=limit, source=option) for option, limit in limits.items() if limit is not None
        )

    def parse_facts(self, sensitive: Sequence[str]) -> dict[str, tuple[Fact, ...]]:
        """Return the facts about the values of each sensitive column.

        >>> request = AttackRequest(release="r.csv", rules_out=("flu if sex=m",))
        >>> request.parse_facts(["disease"])
        {'disease': (Fact(value='flu', times=0.0, where={'sex': 'm'}),)}
        """
        found: dict[str, tuple[Fact, ...]] = {}
        for text in self.rules_out:
            column, fact = _parse_fact("`rules_out=`", text, 0.0, sensitive)
            found[column] = (*found.get(column, ()), fact)
        for text in self.base_rates:
            said, condition, where = text.partition(CONDITION_SEPARATOR)
            value, colon, times = said.rpartition(":")
            if not colon:
                raise RequestError(
                    f"`base_rates=` must be VALUE:TIMES; got {text}.",
                    hint='Write `base_rates="Heart Disease:0.1 if nationality=Japanese"`.',
                )
            rate = parse_number("`base_rates=`", times)
            column, fact = _parse_fact("`base_rates=`", value + condition + where, rate, sensitive)
            found[column] = (*found.get(column, ()), fact)
        return found


def _parse_fact(argument: str, text: str, times: float, sensitive: Sequence[str]) -> tuple[str, Fact]:
    said, _, where = text.partition(CONDITION_SEPARATOR)
    column, sign, value = said.partition("=")
    if not sign and len(sensitive) != 1:
        raise RequestError(
            f"{argument} must be COLUMN=VALUE where not exactly one column is sensitive; got {text}.",
            hint=f"Sensitive are {', '.join(sensitive) or 'none'}.",
        )
    if not sign:
        column, value = sensitive[0], said
    if column not in sensitive:
        raise RequestError(
            f"{argument} is about {column}, which is not sensitive.",
            hint=f"Sensitive are {', '.join(sensitive) or 'none'}.",
        )
    conditions = dict(_parse_pair(argument, each) for each in where.split(",")) if where else {}
    return column, Fact(value=value.strip(), times=times, where=conditions)
