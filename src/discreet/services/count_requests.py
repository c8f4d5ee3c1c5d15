"""The requests of the verbs that release counts: `tabulate`, `itemsets` and `stream`.

They are apart from the services, which take a second to import: the command line's options derive from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import Real, is_real, parse_number, parse_probability
from discreet.services.request_fields import COST_PANEL, CommandLine, accept_text, split_names

COUNTS_PANEL, ITEMSETS_PANEL, QUESTIONS_PANEL = "Counts", "Itemsets", "Questions"
DEFAULT_BASIS, DEFAULT_LARGEST = 8, 3
"""Those of `mining.tabulation.frequent_itemsets`, which takes long to import; a test compares them."""


def parse_bins(bins: Mapping[str, int] | Sequence[str] | str | None) -> dict[str, int]:
    """Return the number of bins of each column, from a mapping or from texts such as age=8.

    >>> parse_bins("age=8,pay=20")
    {'age': 8, 'pay': 20}
    """
    if isinstance(bins, Mapping):
        return dict(bins)
    if bins is not None and not isinstance(bins, Sequence):
        raise _refuse_bins(bins)
    return dict(map(_parse_bin_text, bins.split(",") if isinstance(bins, str) else bins or ()))


def _parse_bin_text(text: str) -> tuple[str, int]:
    name, _, number = str(text).rpartition("=")
    if not name.strip() or not number.isdecimal() or int(number) < 1:
        raise _refuse_bins(text)
    return name.strip(), int(number)


def _refuse_bins(given: object) -> InvalidParameterError:
    return InvalidParameterError(
        f"`bins=` must be a column and its number of bins, such as age=8; got {given}."
    )


def _split_marginals(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(split_names, texts))


def _read_number(option: str, value: Any) -> Real:
    return value if is_real(value) else parse_number(option, str(value))


def _read_threshold(value: Any) -> float:
    return value if is_real(value) else parse_probability("`threshold=`", str(value))


Epsilon = Annotated[
    Real | None,
    Field(description="The epsilon that it may cost, a part of the promise."),
    *accept_text(partial(_read_number, "`epsilon=`"), nullable=True),
    CommandLine(typed=str, panel=COST_PANEL, metavar="N"),
]
Delta = Annotated[
    Real,
    Field(description="For a promise with a tail, such as 1e-9."),
    *accept_text(partial(_read_number, "`delta=`")),
    CommandLine(typed=str, panel=COST_PANEL, metavar="N"),
]
Bins = Annotated[
    dict[str, int],
    Field(description="The number of bins that a number or date is divided into."),
    CommandLine(
        typed=list[str],
        parse=parse_bins,
        help="Divide a number or date into so many bins: --bins age=8.",
        metavar="COLUMN=N",
    ),
]
Names = tuple[str, ...]


class _CountRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class TabulateRequest(_CountRequest):
    """A table of counts: all combinations of `columns`, their `marginals`, or the `ranges` of a column."""

    table: Annotated[str, Field(description="A table of the policy."), CommandLine(is_argument=True)]
    columns: Annotated[
        Names,
        Field(description="Count every combination of the bins of these columns."),
        CommandLine(typed=str, parse=split_names, panel=COUNTS_PANEL, metavar="A,B"),
    ] = ()
    ranges: Annotated[
        str | None,
        Field(description="A number or date column: count every range of it, for each combination."),
        CommandLine(panel=COUNTS_PANEL, metavar="COLUMN"),
    ] = None
    marginals: Annotated[
        tuple[Names, ...],
        Field(description="Marginals, such as [[sex], [sex, race]], instead of all combinations."),
        CommandLine(
            flags=("--marginal",),
            typed=list[str],
            parse=_split_marginals,
            help="Count these combinations instead of all: --marginal sex --marginal sex,race.",
            panel=COUNTS_PANEL,
            metavar="A,B",
        ),
    ] = ()
    bins: Annotated[Bins, CommandLine(panel=COUNTS_PANEL)] = Field(default_factory=dict)
    logarithmic: Annotated[
        Names,
        Field(description="Columns to divide on a log scale."),
        CommandLine(flags=("--log",), typed=str, parse=split_names, panel=COUNTS_PANEL, metavar="A,B"),
    ] = ()
    epsilon: Epsilon = None
    delta: Delta = 0

    @model_validator(mode="before")
    @classmethod
    def _add_marginal_columns(cls, data: Any) -> Any:
        """Take the columns of the marginals where none are named."""
        if not isinstance(data, Mapping) or data.get("columns") or not data.get("marginals"):
            return data
        return {**data, "columns": tuple(dict.fromkeys(name for each in data["marginals"] for name in each))}


class ItemsetsRequest(_CountRequest):
    """The frequent itemsets of a table: items, threshold and budget."""

    table: Annotated[
        str,
        Field(description="A table of the policy; its rows are baskets."),
        CommandLine(is_argument=True),
    ]
    items: Annotated[
        Names | None,
        Field(description="Boolean columns; all of them by default."),
        CommandLine(
            typed=str, parse=lambda text: split_names(text) or None, panel=ITEMSETS_PANEL, metavar="A,B"
        ),
    ] = None
    threshold: Annotated[
        float,
        Field(description="The least share of rows that have the itemset."),
        *accept_text(_read_threshold),
        CommandLine(typed=str, default="10%", panel=ITEMSETS_PANEL, metavar="SHARE"),
    ] = 0.1
    basis: Annotated[
        int,
        Field(description="How many of the most frequent items to combine."),
        CommandLine(panel=ITEMSETS_PANEL),
    ] = DEFAULT_BASIS
    largest: Annotated[
        int, Field(description="The most items of an itemset."), CommandLine(panel=ITEMSETS_PANEL)
    ] = DEFAULT_LARGEST
    epsilon: Epsilon = None
    delta: Delta = 0


class StreamRequest(_CountRequest):
    """Counting questions to answer; without a method, the one with the least error is used."""

    table: Annotated[str, Field(description="A table of the policy."), CommandLine(is_argument=True)]
    method: Annotated[
        str | None,
        Field(description="median, weights or laplace; by default, the one with the least error."),
        CommandLine(panel=QUESTIONS_PANEL, metavar="NAME"),
    ] = None
    columns: Annotated[
        Names,
        Field(description="The columns that questions may use; by default, those of the file."),
        CommandLine(typed=str, parse=split_names, panel=QUESTIONS_PANEL, metavar="A,B"),
    ] = ()
    bins: Annotated[Bins, CommandLine(panel=QUESTIONS_PANEL)] = Field(default_factory=dict)
    updates: Annotated[
        int | None,
        Field(description="The most answers to measure afresh."),
        CommandLine(panel=QUESTIONS_PANEL),
    ] = None
    questions: Annotated[
        int | None,
        Field(description="How many questions will be asked, where they are not known yet."),
        CommandLine(is_option=False),
    ] = None
    epsilon: Epsilon = None
    delta: Delta = 0
