"""The request of `bounds`; apart from the service, which takes a second to import."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import Real
from discreet.services.request_fields import (
    COST_PANEL,
    CommandLine,
    accept_number,
    accept_probability,
    accept_text,
)

DEFAULT_ORIGIN = date(2000, 1, 1)
DEFAULT_FALSE_POSITIVES = 0.05
LEARNING_PANEL = "What is learned"


def _read_origin(value: object) -> date:
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise InvalidParameterError(f"`origin=` must be a date such as 2000-01-01; got {value}.") from None


class BoundsRequest(BaseModel):
    """A column whose bounds, or frequent values, are to be learned from its rows."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    table: Annotated[str, Field(description="A table of the policy."), CommandLine(is_argument=True)]
    column: Annotated[
        str,
        Field(description="A number, date or timestamp without low and high, or a category without values."),
        CommandLine(is_argument=True),
    ]
    values: Annotated[
        bool,
        Field(description="Learn the frequent values of a category; needs a promise with a tail."),
        CommandLine(panel=LEARNING_PANEL),
    ] = False
    epsilon: Annotated[
        Real | None,
        Field(description="The epsilon that it may cost, a part of the promise."),
        *accept_number("`epsilon=`"),
        CommandLine(typed=str, panel=COST_PANEL, metavar="N"),
    ] = None
    false_positives: Annotated[
        Real,
        Field(description="The chance that a bound is wider than it need be."),
        *accept_probability("`false_positives=`", nullable=False),
        CommandLine(typed=str, default="5%", panel=LEARNING_PANEL, metavar="SHARE"),
    ] = DEFAULT_FALSE_POSITIVES
    origin: Annotated[
        date,
        Field(description="The day that dates are counted from: bounds are finest near it."),
        *accept_text(_read_origin),
        CommandLine(typed=str, default=DEFAULT_ORIGIN.isoformat(), panel=LEARNING_PANEL, metavar="DATE"),
    ] = DEFAULT_ORIGIN
