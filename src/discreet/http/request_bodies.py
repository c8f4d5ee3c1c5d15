"""Request bodies, validated before a route runs, and the body of an error response."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.services.serving.curators import QuestionOptions
from discreet.services.users.api_tokens import MAX_TOKEN_DAYS
from discreet.services.users.user_storage import DEFAULT_TOKEN_DAYS
from discreet.sql.planner import CONFIDENCE

MAX_SQL_LENGTH = 100_000
ShortText = Annotated[str, Field(max_length=200)]
FiniteNumber = Annotated[float, Field(allow_inf_nan=False)]
UnitInterval = Annotated[float, Field(gt=0, lt=1)]


class RequestBody(BaseModel):
    """A body that allows no undeclared field."""

    model_config = ConfigDict(extra="forbid")


class LoginBody(RequestBody):
    """A name and its password."""

    name: ShortText
    password: ShortText


class PasswordChangeBody(RequestBody):
    """The old and the new password."""

    old: ShortText
    new: ShortText


class TokenBody(RequestBody):
    """The label of a new token, and its lifetime in days."""

    label: Annotated[str, Field(min_length=1, max_length=100)]
    days: Annotated[int, Field(ge=1, le=MAX_TOKEN_DAYS)] = DEFAULT_TOKEN_DAYS


class QuestionBody(RequestBody):
    """A query, its cost and the form of its answer; at most one of epsilon, share and within."""

    sql: Annotated[str, Field(min_length=1, max_length=MAX_SQL_LENGTH)]
    epsilon: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    share: Annotated[float | None, Field(gt=0, le=1)] = None
    within: FiniteNumber | Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,6})?%$")] | None = None
    least_rows: Annotated[int | None, Field(ge=1, le=10**12)] = None
    confidence: UnitInterval = CONFIDENCE
    raw: bool = False

    @property
    def spending(self) -> QuestionOptions:
        """The fields that decide cost and accuracy, without the SQL."""
        return QuestionOptions(
            epsilon=self.epsilon,
            share=self.share,
            within=self.within,
            least_rows=self.least_rows,
            confidence=self.confidence,
            raw=self.raw,
        )


class BudgetRequestBody(RequestBody):
    """A budget request: by how much the share should grow, and why."""

    share: UnitInterval
    reason: Annotated[str, Field(max_length=1_000)] = ""


class GrantBody(RequestBody):
    """The grant of a budget request; without `taken_from`, out of the unassigned budget."""

    taken_from: ShortText | None = None


class DenialBody(RequestBody):
    """The denial of a budget request, with its reason."""

    note: Annotated[str, Field(max_length=1_000)] = ""


class AttackBody(RequestBody):
    """An attack on a release, by its number in the ledger, or without one on the answers."""

    release: int | None = None
    table: ShortText | None = None
    victim: ShortText | None = None
    claim: ShortText | None = None
    victims: Annotated[int, Field(ge=1, le=1_000)] = 20
    rules_out: Annotated[list[ShortText], Field(max_length=20)] = []
    at_most: ShortText | None = None


class ErrorBody(BaseModel):
    """An error: one sentence, a code for programs, and what to do next."""

    error: str
    code: str
    hint: str
