"""The request of `anonymize`: options of the command line, HTTP body and console form derive from its fields.

    ModelFields        one field for each option of `MODELS`
    AnonymizeFields    what every frontend can ask for: these models, and how values are made coarser
    FileModelFields    also models that need a file of the custodian's
    AnonymizeRequest   also what names a path or describes a file, which an HTTP body never does

Values are typed: a text such as `2%` or `disease:2:distinct` is parsed when the request is built, and refused
there. Searches and attacks take seconds to import, too long for reporting a misspelled word, so the names
of methods and objectives are repeated here; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from discreet.anonymity.models.model_option import ModelOption, ModelSpec, parse_fraction
from discreet.anonymity.models.model_parsing import MODEL_OPTIONS, parse_model
from discreet.anonymity.models.posterior_cap import PosteriorCap
from discreet.anonymity.suppression import parse_suppression_limit
from discreet.core.errors import RequestError
from discreet.services.addresses import SERVER_EXAMPLES
from discreet.services.request_fields import (
    CommandLine,
    accept_probability,
    accept_text,
    get_form,
    split_names,
)
from discreet.services.validation_errors import list_choices

MICROAGGREGATE, PRIVATE = "microaggregate", "private"
METHODS = ("generalize", "local", "mondrian", "mondrian-relaxed", "cells", MICROAGGREGATE, PRIVATE)
OBJECTIVES = ("loss", "class-size", "discernibility", "precision", "entropy", "ambiguity", "height")
PUBLISHED, MODELS, METHOD = "What is published", "Privacy models", "Method"
EARLIER_RELEASES = "Earlier releases"
PRIVATE_METHOD, ATTACKERS, OUTPUT = "Method private", "Attackers", "Output"
PANELS = (PUBLISHED, MODELS, EARLIER_RELEASES, METHOD, PRIVATE_METHOD, ATTACKERS, OUTPUT)
"""The groups of options, in the order of help."""

MOST_VALUES = 100
"""The most values of one field."""


def require_name(what: str, known: Sequence[str], name: str) -> str:
    """Return the name of a method or objective; raise if there is none of that name."""
    if name not in known:
        raise RequestError(f"There is no {what} {name}.", hint=f"There are {', '.join(known)}.")
    return name


def parse_pair(option: str, text: str) -> tuple[str, str]:
    """Return the column and the value of COLUMN=VALUE."""
    column, sign, value = text.partition("=")
    if not sign or not column or not value:
        raise RequestError(f"{option} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column, value


def parse_levels(texts: Sequence[str]) -> dict[str, int]:
    """Parse the level of each column.

    >>> parse_levels(["age=2"])
    {'age': 2}
    """
    pairs = [parse_pair("`levels=`", each) for each in texts]
    wrong = [value for _, value in pairs if not (value.isascii() and value.isdigit() and len(value) < 4)]
    if wrong:
        raise RequestError(
            f"`levels=` must be COLUMN=NUMBER; got {wrong[0]}.", hint='Write `levels="age=2"` or the like.'
        )
    return {name: int(value) for name, value in pairs}


def parse_centres(texts: Sequence[str]) -> dict[str, str]:
    """Parse the centre of each column."""
    pairs = dict(parse_pair("`centres=`", each) for each in texts)
    wrong = [value for value in pairs.values() if value not in ("mean", "median")]
    if wrong:
        raise RequestError(
            f"`centres=` must be COLUMN=mean or COLUMN=median; got {wrong[0]}.", hint="Name one."
        )
    return pairs


def parse_weights(texts: Sequence[str]) -> dict[str, float]:
    """Parse the weight of each column."""
    pairs = [parse_pair("`weights=`", each) for each in texts]
    return {name: float(parse_fraction("`weights=`", value)) for name, value in pairs}


def parse_hierarchies(texts: Sequence[str]) -> dict[str, str]:
    """Parse the file of each column's hierarchy."""
    return dict(parse_pair("`hierarchy=`", each) for each in texts)


def _split_texts(value: object) -> object:
    """Return the names in one text, or in each of several: --keep a,b --keep c."""
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(each, str) for each in texts):
        return value
    return tuple(name for text in texts for name in split_names(text))


def _read_posterior(value: object) -> PosteriorCap:
    return value if isinstance(value, PosteriorCap) else PosteriorCap.parse(str(value))


def _check_unit(value: object) -> object:
    if value not in (None, "row"):
        raise RequestError(f"`unit=` must be row; got {value}.", hint="Omit it to count people.")
    return value


def _build_model_fields(*, needs_file: bool) -> dict[str, Any]:
    """Return type and default of the field of each option of `MODELS`, by its name."""
    options = (option for option in MODEL_OPTIONS if option.needs_file == needs_file)
    return {option.name: _build_model_field(option) for option in options}


def _build_model_field(option: ModelOption) -> tuple[Any, Any]:
    panel = EARLIER_RELEASES if option.needs_file else MODELS
    line = partial(CommandLine, flags=(option.flag,) if option.flag else (), panel=panel)
    described = Field(description=option.help, max_length=MOST_VALUES if option.is_repeated else None)
    if option.is_number:
        described = Field(description=option.help, json_schema_extra={"minimum": 1})
        number = (AfterValidator(partial(_check_number, option)), line())
        return Annotated[(int | None, described, *number)], None
    read = partial(parse_model, option)
    if option.is_repeated:
        each = Annotated[(ModelSpec, *accept_text(read))]
        return Annotated[tuple[each, ...], described, line(typed=list[str], metavar="MODEL")], ()
    single = (*accept_text(read, nullable=True), line(typed=str, metavar="MODEL"))
    return Annotated[(ModelSpec | None, described, *single)], None


def _check_number(option: ModelOption, value: int | None) -> int | None:
    if value is not None:
        parse_model(option, value)
    return value


MAX_NAME_LENGTH = 200
Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
"""A name that a client sends; errors repeat it, and jobs store them."""


class _Request(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, populate_by_name=True
    )


if TYPE_CHECKING:
    ModelFields = _Request
else:
    ModelFields = create_model("ModelFields", __base__=_Request, **_build_model_fields(needs_file=False))


class AnonymizeFields(ModelFields):
    """The fields of a request to publish: a table, the models that it must meet, and its recoding.

    The title of a field is its label on the console's form.
    """

    table: Annotated[
        str, Field(description="A table of the policy, or a file."), CommandLine(is_argument=True)
    ]
    keep: Annotated[
        tuple[Name, ...],
        Field(
            title="Keep",
            description="Columns without a role to publish unchanged: a,b. One that may identify people also "
            "needs `force=`.",
            max_length=MOST_VALUES,
        ),
        BeforeValidator(_split_texts),
        CommandLine(typed=list[str], panel=PUBLISHED, metavar="A,B"),
    ] = ()
    posterior: Annotated[
        PosteriorCap | None,
        Field(
            title="A sensitive value is believed at most",
            description="The highest belief in a sensitive value: 20%, or 20%:recursive|equal.",
        ),
        *accept_text(_read_posterior, nullable=True),
        CommandLine(typed=str, panel=MODELS, metavar="SHARE"),
    ] = None
    population: Annotated[
        str | None,
        Field(title="Population", description="A table or file of everybody."),
        CommandLine(panel=MODELS, metavar="TABLE"),
    ] = None
    method: Annotated[
        Name,
        Field(title="Method", description=f"How values are made coarser: {list_choices(METHODS)}."),
        AfterValidator(partial(require_name, "method", METHODS)),
        CommandLine(panel=METHOD, metavar="NAME"),
    ] = "generalize"
    objective: Annotated[
        Name,
        Field(title="Objective", description=f"What is minimized: {list_choices(OBJECTIVES)}."),
        AfterValidator(partial(require_name, "objective", OBJECTIVES)),
        CommandLine(panel=METHOD, metavar="NAME"),
    ] = "loss"
    suppress: Annotated[
        Fraction,
        Field(title="Suppress at most", description="The largest share of records to suppress, such as 2%."),
        *accept_text(parse_suppression_limit),
        CommandLine(typed=str, panel=METHOD, metavar="SHARE"),
    ] = Fraction(0)
    levels: Annotated[
        dict[Name, Annotated[int, Field(ge=0, le=999)]],
        Field(
            alias="level",
            title="Levels",
            description="The level of each column; columns that are not named are at 0.",
        ),
        CommandLine(
            flags=("--level",),
            typed=list[str],
            parse=parse_levels,
            help="Publish a column at this level; columns that are not named are at 0.",
            metavar="COLUMN=N",
            panel=METHOD,
        ),
    ] = Field(default_factory=dict)
    centres: Annotated[
        dict[Name, Literal["mean", "median"]],
        Field(
            alias="centre",
            title="Centres",
            description="Columns that show a number for each class instead of a label.",
        ),
        CommandLine(
            flags=("--centre",),
            typed=list[str],
            parse=parse_centres,
            help="Show a column's mean or median in each class instead of a label.",
            metavar="COLUMN=mean|median",
            panel=METHOD,
        ),
    ] = Field(default_factory=dict)
    weights: Annotated[
        dict[Name, float],
        Field(
            alias="weight",
            title="Weights",
            description="How much the information that a column loses counts; 1 if not named.",
        ),
        CommandLine(
            flags=("--weight",),
            typed=list[str],
            parse=parse_weights,
            help="How much the information that a column loses counts; 1 if not named.",
            metavar="COLUMN=N",
            panel=METHOD,
        ),
    ] = Field(default_factory=dict)
    seconds: Annotated[
        float | None,
        Field(title="Seconds", description="The most time to search; 60 if not given."),
        CommandLine(panel=METHOD),
    ] = None
    unit: Annotated[
        Literal["row"] | None,
        Field(title="Count", description="row: count rows, even if a person has several."),
        BeforeValidator(_check_unit),
        CommandLine(typed=str, panel=METHOD, metavar="row", help="Count rows, even if a person has several."),
    ] = None
    epsilon: Annotated[
        float | None, Field(description="The epsilon that it may cost."), CommandLine(panel=PRIVATE_METHOD)
    ] = None
    delta: Annotated[
        float | None,
        Field(description="The delta that it may cost, such as 1e-9."),
        CommandLine(panel=PRIVATE_METHOD),
    ] = None
    analyst: Annotated[
        str | None,
        Field(
            description="The analyst whose share a private release is charged to.", max_length=MAX_NAME_LENGTH
        ),
        CommandLine(panel=PRIVATE_METHOD, metavar="NAME"),
    ] = None
    at_most: Annotated[
        float | None,
        Field(
            title="Any attack may believe at most",
            description="The highest belief that any attack may reach, such as 30%.",
        ),
        *accept_probability("`at_most=`"),
        CommandLine(
            typed=str,
            help="The highest belief that any attack may reach, such as 30%; above it, exit code 4.",
            panel=ATTACKERS,
        ),
    ] = None
    sampling: Annotated[
        float | None,
        Field(
            title="Share of the population in the table",
            description="The share of the population that the table holds, such as 1%, for risk estimates.",
        ),
        *accept_probability("`sampling=`"),
        CommandLine(typed=str, panel=ATTACKERS),
    ] = None
    force: Annotated[
        bool,
        Field(
            title="Force: publish though an attack breaks a bound, or a kept column may identify people; the "
            "certificate will say so",
            description="Publish even if an attack succeeds, or a column of `keep=` may identify people; the "
            "certificate says so.",
        ),
        CommandLine(panel=ATTACKERS),
    ] = False

    def list_given(self) -> list[str]:
        """Return the fields that have another value than their default."""
        return [
            name
            for name, field in type(self).model_fields.items()
            if getattr(self, name) != field.get_default(call_default_factory=True)
        ]

    @property
    def model_specs(self) -> tuple[ModelSpec, ...]:
        """Every requested model, in the order of `MODELS`."""
        found: list[ModelSpec] = []
        for option in MODEL_OPTIONS:
            value = getattr(self, option.name, None)
            values = value if isinstance(value, tuple) else () if value is None else (value,)
            found += [parse_model(option, each) for each in values]
        return tuple(found)


if TYPE_CHECKING:
    FileModelFields = AnonymizeFields
else:
    FileModelFields = create_model(
        "FileModelFields", __base__=AnonymizeFields, **_build_model_fields(needs_file=True)
    )


class AnonymizeRequest(FileModelFields):
    """A request of the custodian's own: it may name paths, and describe a file that no policy declares."""

    policy: Annotated[
        Path | None,
        Field(description="The custodian's policy."),
        CommandLine(flags=("--policy", "-p"), panel=PUBLISHED, shown_default="privacy.yaml, if there is one"),
    ] = None
    quasi: Annotated[
        tuple[str, ...],
        Field(description="Quasi-identifiers of a file."),
        CommandLine(typed=str, parse=split_names, panel=PUBLISHED, metavar="A,B"),
    ] = ()
    sensitive: Annotated[
        tuple[str, ...],
        Field(description="Sensitive columns of a file."),
        CommandLine(typed=str, parse=split_names, panel=PUBLISHED, metavar="A,B"),
    ] = ()
    person: Annotated[
        str | None,
        Field(
            description="The column of a file that names the person, so that people are counted; row if each "
            "row is another person."
        ),
        CommandLine(panel=PUBLISHED, metavar="COLUMN"),
    ] = None
    hierarchy: Annotated[
        Mapping[str, str],
        Field(description="The hierarchy of a column, in ARX's format."),
        CommandLine(typed=list[str], parse=parse_hierarchies, panel=PUBLISHED, metavar="COLUMN=FILE"),
    ] = Field(default_factory=dict)
    pseudonym: Annotated[
        tuple[str, ...],
        Field(description="Replace an identifier by keyed pseudonyms, with `key=`."),
        CommandLine(panel=PUBLISHED, metavar="COLUMN"),
    ] = ()
    key: Annotated[
        Path | None,
        Field(description="The key file; created if it does not exist."),
        CommandLine(panel=PUBLISHED),
    ] = None
    engine: Annotated[
        str | None,
        Field(description=f"The engine that holds the rows, instead of the policy's: {SERVER_EXAMPLES}."),
        CommandLine(panel=PUBLISHED, metavar="ADDRESS"),
    ] = None
    earlier: Annotated[
        Path | None,
        Field(description="The previous release, with its signatures file beside it."),
        CommandLine(panel=EARLIER_RELEASES),
    ] = None
    others: Annotated[
        tuple[str | Path, ...],
        Field(description="Another release that attackers also have."),
        CommandLine(flags=("--with",), typed=list[str], panel=ATTACKERS, metavar="FILE"),
    ] = ()
    output: Annotated[
        str | None,
        Field(description=".parquet, .csv, .duckdb, FILE.duckdb#TABLE, or a table of `engine=`."),
        CommandLine(flags=("-o", "--output"), panel=OUTPUT, metavar="FILE"),
    ] = None


def get_panel(name: str) -> str:
    """Return the panel of a field of the request."""
    return get_form(AnonymizeRequest.model_fields[name]).panel
