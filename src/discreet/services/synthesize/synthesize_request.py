"""The request of `synthesize`: options of the command line and the HTTP body derive from its fields.

SynthesizeFields      what every frontend can ask for
SynthesizeRequest     also a promise for this table alone; what is charged and stored
PublishRequest        also where rows are written, and with whom they are attacked before
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from discreet.belief.promise import parse_promise
from discreet.core.errors import RequestError
from discreet.services.count_requests import Delta, Epsilon
from discreet.services.request_fields import (
    COST_PANEL,
    OUTPUT_PANEL,
    POLICY_PANEL,
    CommandLine,
    accept_probability,
    split_names,
)

ROWS_PANEL, ATTACKERS_PANEL = "Synthetic rows", "Attackers"
ALL: Literal["all"] = "all"


def _read_names(value: object) -> object:
    return split_names(value) if isinstance(value, str) else value


def _read_columns(value: object) -> object:
    """Return the columns to synthesize; an empty text means all of them."""
    return _read_names(value) or None


def _read_quality(value: object) -> object:
    if value not in ("lean", "best"):
        raise RequestError(f"`quality=` is lean or best; got {value}.", hint="Leave it out for lean.")
    return value


def _read_entries(value: object) -> object:
    """Return entries of the ledger, from numbers or a text such as 3,5."""
    if not isinstance(value, str) or value == ALL:
        return value
    words = split_names(value)
    if not words or not all(word.isdecimal() for word in words):
        raise RequestError(
            f"`earlier=` must be entries of the ledger, such as 3,5, or all; got {value}.",
            hint="`discreet ledger` lists them.",
        )
    return tuple(map(int, words))


def _read_promise(value: object) -> object:
    if not isinstance(value, str):
        return value
    promise = parse_promise("`promise=`", value)
    return promise.prior, promise.posterior


class SynthesizeFields(BaseModel):
    """The fields of every request for a synthetic table: its columns, its cost and its quality."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    table: Annotated[str, Field(description="A table of the policy."), CommandLine(is_argument=True)]
    epsilon: Epsilon = None
    delta: Delta = 0
    quality: Annotated[
        Literal["lean", "best"],
        Field(description="lean (MST, a second) or best (AIM, minutes)."),
        BeforeValidator(_read_quality),
        CommandLine(typed=str, panel=ROWS_PANEL, metavar="lean|best"),
    ] = "lean"
    columns: Annotated[
        Sequence[str] | None,
        Field(description="The columns to publish; all declared ones by default."),
        BeforeValidator(_read_columns),
        CommandLine(typed=str, panel=ROWS_PANEL, metavar="A,B"),
    ] = None
    logarithmic: Annotated[
        Sequence[str],
        Field(description="Columns to divide on a log scale."),
        BeforeValidator(_read_names),
        CommandLine(flags=("--log",), typed=str, panel=ROWS_PANEL, metavar="A,B"),
    ] = ()
    earlier: Annotated[
        Sequence[int] | Literal["all"],
        Field(description="Earlier answers to be consistent with, by ledger entry: 3,5 or all."),
        BeforeValidator(_read_entries),
        CommandLine(flags=("--with",), typed=str, panel=ROWS_PANEL, metavar="ENTRIES"),
    ] = ()


class SynthesizeRequest(SynthesizeFields):
    """A request for a synthetic table; its cost is an epsilon, or prior and posterior of a promise.

    The fields are part of the key under which the ledger stores the rows: a renamed field would charge a
    repeated request again.
    """

    promise: Annotated[
        tuple[float, float] | None,
        Field(description="Instead of `epsilon=`: prior:posterior for this table alone, such as 1%:2%."),
        BeforeValidator(_read_promise),
        CommandLine(typed=str, panel=COST_PANEL, metavar="PRIOR:POSTERIOR"),
    ] = None

    @model_validator(mode="after")
    def _require_one_cost(self) -> Self:
        if self.promise is not None and (self.epsilon is not None or self.delta):
            raise RequestError(
                "`promise=` and `epsilon=` or `delta=` exclude each other.",
                hint="Leave `epsilon=` and `delta=` out.",
            )
        return self


class PublishRequest(SynthesizeRequest):
    """A synthetic table to write, with the people by whom it is attacked before."""

    output: Annotated[
        Path,
        Field(description=".parquet, .csv, .duckdb or FILE.duckdb#TABLE."),
        CommandLine(flags=("-o", "--output"), panel=OUTPUT_PANEL, metavar="FILE"),
    ]
    analyst: Annotated[
        str | None,
        Field(description="The analyst whose share is charged."),
        CommandLine(panel=POLICY_PANEL, metavar="NAME"),
    ] = None
    panel: Annotated[
        Path | None,
        Field(description="A file of people who are not in the data, as a baseline for attacks."),
        CommandLine(panel=ATTACKERS_PANEL),
    ] = None
    target: Annotated[
        str | None,
        Field(description="A column to predict from real and from synthetic rows, with `panel=`."),
        CommandLine(panel=ATTACKERS_PANEL, metavar="COLUMN"),
    ] = None
    at_most: Annotated[
        float | None,
        Field(
            description="The highest belief that any attack may reach, such as 30%; above it, exit code 4."
        ),
        *accept_probability("`at_most=`"),
        CommandLine(typed=str, panel=ATTACKERS_PANEL),
    ] = None
    force: Annotated[
        bool,
        Field(description="Publish even if an attack succeeds; the certificate says so."),
        CommandLine(panel=ATTACKERS_PANEL),
    ] = False
