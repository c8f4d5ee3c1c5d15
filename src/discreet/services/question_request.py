"""The question of `ask` and `plan`: options of the command line, HTTP body and console form derive from it.

    QuestionFields     what every frontend can ask for
    QuestionRequest    also the weights of columns and the values of parameters

Texts are parsed when the request is built. Ranges are checked by the planner, which refuses the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from discreet.core.errors import InvalidParameterError, shorten_value
from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real, parse_number, require_count
from discreet.services.request_fields import (
    COST_PANEL,
    CommandLine,
    accept_number,
    accept_probability,
    accept_text,
    make_request,
    read_number,
)
from discreet.sql.expression_tree import Scalar

ANSWER_PANEL = "Answer"
MAX_LEAST_ROWS = 10**12
PERCENT = r"^\d{1,3}(\.\d{1,6})?%$"


class Reuse(StrEnum):
    """How far a question uses the store: what is as precise as it asks, anything, or nothing."""

    PRECISE = "precise"
    ANY = "any"
    NOTHING = "nothing"


def parse_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the weight of each column.

    >>> parse_weights(["n=1", "mean=3"])
    {'n': 1.0, 'mean': 3.0}
    """
    return dict(map(_parse_weight, texts))


def _parse_weight(text: str) -> tuple[str, float]:
    name, sign, weight = text.rpartition("=")
    if not sign or not name:
        raise InvalidParameterError(f"`split=` must be a column and its weight, such as n=2; got {text}.")
    return name, parse_number(f"The weight of {name} in `split=`", weight)


def _require_text(value: object) -> object:
    if not isinstance(value, str):
        raise InvalidParameterError(f"`sql=` must be a question in SQL; got {shorten_value(value)}.")
    return value


def _read_within(value: object) -> object:
    """Return an error as a number, or as a text such as 2%, a share of ranks."""
    text = value.strip().lstrip("±") if isinstance(value, str) else ""
    return text if text.endswith("%") else read_number("`within=`", value)


def _read_least_rows(value: object) -> object:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    require_count("ask", "least_rows", value)
    return value


def _read_weights(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else {} if value is None else value


class QuestionFields(BaseModel):
    """A query, its cost and the form of its answer; at most one of epsilon, share and within."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    sql: Annotated[
        str,
        Field(description="The question, as SQL."),
        BeforeValidator(_require_text),
        CommandLine(is_argument=True),
    ]
    epsilon: Annotated[
        Real | None,
        Field(description="The most epsilon to spend; what was released before is not charged again."),
        *accept_number("`epsilon=`", exclusiveMinimum=0),
        CommandLine(panel=COST_PANEL),
    ] = None
    share: Annotated[
        Real | None,
        Field(description="Instead of `epsilon=`: a share of the promise, such as 5%."),
        *accept_probability("`share=`"),
        CommandLine(panel=COST_PANEL),
    ] = None
    within: Annotated[
        Real | str | None,
        Field(
            description="Instead of `epsilon=`: the least epsilon that gives an error of ± this; for MEDIAN "
            "in ranks, such as 2%."
        ),
        *accept_text(
            _read_within, nullable=True, schema=({"type": "number"}, {"type": "string", "pattern": PERCENT})
        ),
        CommandLine(typed=str, panel=COST_PANEL, metavar="ERROR"),
    ] = None
    least_rows: Annotated[
        int | None,
        Field(description="Your assumption of the least rows in a group; for `within=` of AVG and MEDIAN."),
        *accept_text(
            _read_least_rows,
            nullable=True,
            schema=({"type": "integer", "minimum": 1, "maximum": MAX_LEAST_ROWS},),
        ),
        CommandLine(panel=COST_PANEL, metavar="N"),
    ] = None
    confidence: Annotated[
        Real,
        Field(description="The confidence of the intervals."),
        *accept_probability("`confidence=`", nullable=False),
        CommandLine(typed=str, default="95%", panel=ANSWER_PANEL),
    ] = DEFAULT_CONFIDENCE
    free: Annotated[
        bool,
        Field(description="Answer from what was released before, or refuse; charge nothing."),
        CommandLine(panel=COST_PANEL),
    ] = False
    fresh: Annotated[
        bool,
        Field(description="Measure anew, even what was released before; it is charged."),
        CommandLine(panel=COST_PANEL),
    ] = False
    raw: Annotated[
        bool, Field(description="Leave negative counts as they are."), CommandLine(panel=ANSWER_PANEL)
    ] = False

    @property
    def reuse(self) -> Reuse:
        """How far the question uses what was measured before."""
        return Reuse.NOTHING if self.fresh else Reuse.ANY if self.free else Reuse.PRECISE


class QuestionRequest(QuestionFields):
    """A question with the weights by which columns share its cost, and the values of its parameters."""

    split: Annotated[
        dict[str, Any],
        Field(description="Weights by which columns share the cost."),
        BeforeValidator(_read_weights),
        CommandLine(
            typed=list[str],
            parse=parse_weights,
            help="Weights by which columns share the cost: `split=n=1` `split=mean=3`.",
            panel=COST_PANEL,
            metavar="COLUMN=WEIGHT",
        ),
    ] = Field(default_factory=dict)
    values: Annotated[
        tuple[Any, ...],
        Field(description="The values of the parameters $1, $2 …."),
        CommandLine(is_option=False),
    ] = ()


# -- Several questions --------------------------------------------------------------------------------------


class QuestionOptions(TypedDict, total=False):
    """The options of one question in Python."""

    epsilon: Real | None
    share: Real | str | None
    within: Real | str | None
    least_rows: int | None
    split: Mapping[str, Real] | None
    confidence: Real | str
    free: bool
    fresh: bool
    raw: bool
    values: Sequence[Scalar | float]


class BatchOptions(TypedDict, total=False):
    """The options of several questions in Python: for all of them, or a list with one for each."""

    epsilon: Real | Sequence[Real] | None
    within: Real | str | Sequence[Real | str] | None
    least_rows: int | None
    confidence: Real | str
    free: bool
    raw: bool


def make_batch_requests(
    statements: Sequence[str], fields: Mapping[str, object]
) -> tuple[list[QuestionRequest], Real | None]:
    """Return the requests of several questions, and the most epsilon to spend for all of them, if given."""
    for name in ("share", "split", "values"):
        if fields.get(name):
            raise InvalidParameterError(
                f"`{name}=` is for a question alone.", hint="Give `epsilon=` or `within=`."
            )
    shared = dict(fields)
    single: dict[str, Sequence[object]] = {}
    for name in ("epsilon", "within"):
        given = fields.get(name)
        if isinstance(given, list | tuple):
            if len(given) != len(statements):
                raise InvalidParameterError(
                    f"`{name}=` has {len(given)} values for {len(statements)} questions.",
                    hint="Give one for each, or one for all.",
                )
            single[name] = given
    total = None if "epsilon" in single else shared.pop("epsilon", None)
    if total is not None and shared.get("within") is not None:
        raise InvalidParameterError("`epsilon=` and `within=` were given.", hint="Give one of them.")
    requests = [
        make_request(
            QuestionRequest,
            **{**shared, **{name: each[place] for name, each in single.items()}, "sql": text},
        )
        for place, text in enumerate(statements)
    ]
    return requests, None if total is None else read_number("`epsilon=`", total)
