"""The requests of `discreet collect`, from whose fields the options of its commands derive.

`collect analyse` has none: its task is a file (`analyse.load_task`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.belief import Promise
from discreet.belief.promise import parse_promise
from discreet.core.errors import RequestError
from discreet.core.number_checks import DEFAULT_CONFIDENCE, parse_number
from discreet.services.addresses import SERVER_EXAMPLES, OptionalEngine
from discreet.services.request_fields import (
    COST_PANEL,
    OUTPUT_PANEL,
    POLICY_PANEL,
    CommandLine,
    accept_probability,
    accept_text,
)

NUMBER = r"[-+]?[0-9.]+(?:[eE][-+]?\d+)?"
Range = tuple[float, float]
ANSWERS_PANEL = "Answers"


def parse_range(name: str, text: str) -> Range:
    """Return the ends of a range such as 0..100.

    >>> parse_range("values", "0..99.5")
    (0.0, 99.5)
    """
    found = re.fullmatch(rf"\s*({NUMBER}?)\s*\.\.\s*({NUMBER})\s*", text)
    if found is None:
        raise RequestError(f"For a mean, {name} must be a range such as 0..100.")
    low, high = (parse_number(name, end) for end in found.groups())
    if not low < high:
        raise RequestError(f"{name} must go upwards; got {low:g} to {high:g}.")
    return low, high


def _read_promise(value: object) -> Promise:
    return value if isinstance(value, Promise) else parse_promise("`promise=`", str(value))


def _read_range(value: object) -> Range:
    low, high = value if isinstance(value, tuple) else parse_range("`mean=`", str(value))
    return low, high


Confidence = Annotated[
    float, *accept_probability("`confidence=`", nullable=False), CommandLine(typed=str, default="95%")
]
OptionalPromise = Annotated[
    Promise | None, *accept_text(_read_promise, nullable=True), CommandLine(typed=str)
]


class _CollectRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class RandomizeRequest(_CollectRequest):
    """The column to randomize, the possible answers, and the promise that each report keeps."""

    table: Annotated[
        str,
        Field(description="A file of answers, or a table of the policy."),
        CommandLine(is_argument=True),
    ]
    column: Annotated[
        str,
        Field(description="The column to randomize: answers, one row a person; or items of baskets."),
        CommandLine(panel=ANSWERS_PANEL, metavar="COLUMN"),
    ]
    out: Annotated[
        Path,
        Field(description="The .parquet file to write the reports to."),
        CommandLine(flags=("--out", "-o"), panel=OUTPUT_PANEL),
    ]
    promise: Annotated[
        OptionalPromise,
        Field(description="The promise that each report keeps, such as 1%:5%; the policy's by default."),
        CommandLine(panel=COST_PANEL, metavar="PRIOR:POSTERIOR"),
    ] = None
    values: Annotated[
        str | None,
        # parsed only when the answers are found: for a mean it is a range of numbers, else a list of words
        Field(description="The possible answers: a,b,c or 0..100."),
        CommandLine(panel=ANSWERS_PANEL, metavar="A,B"),
    ] = None
    values_from: Annotated[
        Path | None,
        Field(description="The possible answers from a file, one a line."),
        CommandLine(panel=ANSWERS_PANEL),
    ] = None
    other: Annotated[
        str | None,
        Field(description="The value to report for every answer not listed."),
        CommandLine(panel=ANSWERS_PANEL, metavar="VALUE"),
    ] = None
    mean: Annotated[
        bool, Field(description="Answers are numbers; estimate their mean."), CommandLine(panel=ANSWERS_PANEL)
    ] = False
    size: Annotated[
        int | None,
        Field(description="Answers are baskets of items: use at most this many of each.", ge=1),
        CommandLine(least=1, panel=ANSWERS_PANEL, metavar="N"),
    ] = None
    basket: Annotated[
        str | None,
        Field(description="The column that identifies a row's basket; without it, items are lists."),
        CommandLine(panel=ANSWERS_PANEL, metavar="COLUMN"),
    ] = None
    policy: Annotated[
        Path | None,
        Field(description="The policy that declares the column."),
        CommandLine(flags=("-p", "--policy"), panel=POLICY_PANEL),
    ] = None
    operator: Annotated[
        Path | None,
        Field(description="An OPERATOR.yaml, instead of the best operator for the promise."),
        CommandLine(panel=COST_PANEL),
    ] = None
    analyst: Annotated[
        str | None,
        Field(description="The analyst whose share of the promise is charged."),
        CommandLine(panel=POLICY_PANEL, metavar="NAME"),
    ] = None
    engine: Annotated[
        str | None,
        Field(description=f"The engine that holds the table, instead of the policy's: {SERVER_EXAMPLES}."),
        CommandLine(panel=POLICY_PANEL, metavar="ADDRESS"),
    ] = None
    spend_all: Annotated[
        bool,
        Field(description="Confirm that nothing of the promise is left to ask afterwards."),
        CommandLine(panel=COST_PANEL),
    ] = False


class ReportsRequest(_CollectRequest):
    """Reports in a file, or in a table of an engine, and the operator that made them."""

    reports: Annotated[
        str,
        Field(description="Reports: a .parquet file, the store of a survey, or a table of the engine."),
        CommandLine(is_argument=True),
    ]
    operator: Annotated[
        Path | None,
        Field(description="An OPERATOR.yaml, for files and tables that do not carry theirs."),
    ] = None
    engine: Annotated[
        OptionalEngine,
        Field(description=f"The engine that counts the reports: duckdb:///FILE, {SERVER_EXAMPLES}."),
        CommandLine(metavar="ADDRESS"),
    ] = None


class EstimateRequest(ReportsRequest):
    """The reports to estimate from, and the confidence of each interval."""

    question: Annotated[
        str | None,
        Field(description="One question of a survey; all by default."),
        CommandLine(metavar="NAME"),
    ] = None
    confidence: Annotated[Confidence, Field(description="The confidence of each interval.")] = (
        DEFAULT_CONFIDENCE
    )


class MineRequest(ReportsRequest):
    """Reports of baskets, and how frequent itemsets and how strong rules must be."""

    reports: Annotated[
        str,
        Field(description="Reports of baskets: a .parquet file, or a table of the engine."),
        CommandLine(is_argument=True),
    ]
    min_support: Annotated[
        float,
        Field(description="Itemsets of at least this share of the baskets are frequent."),
        *accept_probability("`min_support=`", nullable=False),
        CommandLine(flags=("--support",), typed=str, metavar="SHARE"),
    ]
    min_strength: Annotated[
        float,
        Field(description="The least share of the baskets with a rule's left side that have its right side."),
        *accept_probability("`min_strength=`", nullable=False),
        CommandLine(flags=("--strength",), typed=str, default="50%", metavar="SHARE"),
    ] = 0.5
    max_size: Annotated[
        int,
        Field(description="The most items of an itemset.", ge=1),
        CommandLine(flags=("--longest",), least=1, metavar="N"),
    ] = 3
    confidence: Annotated[Confidence, Field(description="The confidence that all results are correct.")] = (
        DEFAULT_CONFIDENCE
    )


class DesignRequest(_CollectRequest):
    """The promise, the number of clients, and what their answers are: values, numbers or baskets."""

    promise: Annotated[
        Promise,
        Field(description="The promise that each report keeps, such as 1%:5%."),
        *accept_text(_read_promise),
        CommandLine(typed=str, metavar="PRIOR:POSTERIOR"),
    ]
    clients: Annotated[
        int, Field(description="How many people will answer.", ge=1), CommandLine(least=1, metavar="N")
    ]
    domain: Annotated[
        int | None,
        Field(description="How many values an answer can have.", ge=2),
        CommandLine(least=2, metavar="N"),
    ] = None
    mean: Annotated[
        Range | None,
        Field(description="For the mean of numbers: their range, such as 0..100."),
        *accept_text(_read_range, nullable=True),
        CommandLine(typed=str, metavar="LOW..HIGH"),
    ] = None
    items: Annotated[
        int | None,
        Field(description="For baskets: how many items there are.", ge=2),
        CommandLine(least=2, metavar="N"),
    ] = None
    size: Annotated[
        int | None,
        Field(description="For baskets: how many items of one are used.", ge=1),
        CommandLine(least=1, metavar="N"),
    ] = None


class SurveyRequest(_CollectRequest):
    """A survey to serve, and the address to serve it at."""

    file: Annotated[
        Path,
        Field(description="The questions and the promise."),
        CommandLine(is_argument=True, metavar="SURVEY.yaml"),
    ]
    host: Annotated[
        str,
        Field(description="The address to listen on; only this machine by default."),
        CommandLine(metavar="ADDRESS"),
    ] = "127.0.0.1"
    names: Annotated[
        tuple[str, ...],
        Field(description="A host name that clients use, besides the address; may be repeated."),
        CommandLine(flags=("--name",), metavar="NAME"),
    ] = ()
    port: Annotated[
        int,
        Field(description="The port; 0 takes a free one.", ge=0, le=65535),
        CommandLine(least=0, most=65535, metavar="PORT"),
    ] = 8000
