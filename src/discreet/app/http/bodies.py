"""What may be sent: bodies of requests, each checked before anything is done with it."""

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
    """Nothing but what is named."""

    model_config = ConfigDict(extra="forbid")


class Login(Body):
    """A name and its password."""

    name: Word
    password: Word


class Passwords(Body):
    """The password that was, and the one that will be."""

    old: Word
    new: Word


class Label(Body):
    """What a token is for, and for how many days it is made."""

    label: Annotated[str, Field(min_length=1, max_length=100)]
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = TOKEN_DAYS


class Question(Body):
    """A question, what it may cost, and how it is answered; of epsilon, share and within at most one."""

    sql: Annotated[str, Field(min_length=1, max_length=LONGEST_SQL)]
    epsilon: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    share: Annotated[float | None, Field(gt=0, le=1)] = None
    within: Finite | Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,6})?%$")] | None = None
    least_rows: Annotated[int | None, Field(ge=1, le=10**12)] = None
    confidence: Part = CONFIDENCE
    raw: bool = False

    @property
    def spending(self) -> Spending:
        return Spending(
            epsilon=self.epsilon,
            share=self.share,
            within=self.within,
            least_rows=self.least_rows,
            confidence=self.confidence,
            raw=self.raw,
        )


class WishBody(Body):
    """By how much a share should grow, and why."""

    share: Part
    reason: Annotated[str, Field(max_length=1_000)] = ""


class Grant(Body):
    """Out of whose share it is granted; else out of what nobody has."""

    taken_from: Word | None = None


class Denial(Body):
    """Why not."""

    note: Annotated[str, Field(max_length=1_000)] = ""


class Attack(Body):
    """What is attacked, and what is known: a release by its number in the ledger, else the answers."""

    release: int | None = None
    table: Word | None = None
    victim: Word | None = None
    claim: Word | None = None
    victims: Annotated[int, Field(ge=1, le=1_000)] = 20
    rules_out: Annotated[list[Word], Field(max_length=20)] = []
    at_most: Word | None = None


class Refusal(BaseModel):
    """What is sent in place of what was asked for: one sentence, a word for programs, the way out."""

    error: str
    code: str
    hint: str
