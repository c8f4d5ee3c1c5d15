"""Request bodies, validated before a route runs, and the body of an error response."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.app.serve.spending import Spending
from discreet.app.users.storage import TOKEN_DAYS
from discreet.app.users.tokens import MOST_DAYS
from discreet.sql.planner import CONFIDENCE

LONGEST_SQL = 100_000
Word = Annotated[str, Field(max_length=200)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Part = Annotated[float, Field(gt=0, lt=1)]


class Body(BaseModel):
    """A body that allows no undeclared field."""

    model_config = ConfigDict(extra="forbid")


class Login(Body):
    """A name and its password."""

    name: Word
    password: Word


class Passwords(Body):
    """The old and the new password."""

    old: Word
    new: Word


class Label(Body):
    """The label of a new token, and its lifetime in days."""

    label: Annotated[str, Field(min_length=1, max_length=100)]
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = TOKEN_DAYS


class Question(Body):
    """A query, its cost and the form of its answer; at most one of epsilon, share and within."""

    sql: Annotated[str, Field(min_length=1, max_length=LONGEST_SQL)]
    epsilon: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    share: Annotated[float | None, Field(gt=0, le=1)] = None
    within: Finite | Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,6})?%$")] | None = None
    least_rows: Annotated[int | None, Field(ge=1, le=10**12)] = None
    confidence: Part = CONFIDENCE
    raw: bool = False

    @property
    def spending(self) -> Spending:
        """The fields that decide cost and accuracy, without the SQL."""
        return Spending(
            epsilon=self.epsilon,
            share=self.share,
            within=self.within,
            least_rows=self.least_rows,
            confidence=self.confidence,
            raw=self.raw,
        )


class WishBody(Body):
    """A budget request: by how much the share should grow, and why."""

    share: Part
    reason: Annotated[str, Field(max_length=1_000)] = ""


class Grant(Body):
    """The grant of a budget request; without `taken_from`, out of the unassigned budget."""

    taken_from: Word | None = None


class Denial(Body):
    """The denial of a budget request, with its reason."""

    note: Annotated[str, Field(max_length=1_000)] = ""


class Attack(Body):
    """An attack on a release, by its number in the ledger, or without one on the answers."""

    release: int | None = None
    table: Word | None = None
    victim: Word | None = None
    claim: Word | None = None
    victims: Annotated[int, Field(ge=1, le=1_000)] = 20
    rules_out: Annotated[list[Word], Field(max_length=20)] = []
    at_most: Word | None = None


class Refusal(BaseModel):
    """An error: one sentence, a code for programs, and what to do next."""

    error: str
    code: str
    hint: str
