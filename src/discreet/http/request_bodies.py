"""Request bodies, validated before a route runs, and the body of an error response.

Tables are those of the policy, releases those of the ledger. No body names a path, so the custodian's
password does not open other files of the server.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.services.anonymize.anonymize_request import AnonymizeFields
from discreet.services.attack.attack_request import AttackFields
from discreet.services.audit.audit_request import AuditRequest
from discreet.services.bounds.bounds_request import DEFAULT_FALSE_POSITIVES, BoundsRequest
from discreet.services.check.check_request import CheckFields
from discreet.services.plan_batches import MAX_QUESTIONS
from discreet.services.question_request import QuestionFields, QuestionRequest
from discreet.services.request_fields import MIN_EPSILON
from discreet.services.synthesize.synthesize_request import SynthesizeFields
from discreet.services.users.api_tokens import MAX_TOKEN_DAYS
from discreet.services.users.user_storage import DEFAULT_TOKEN_DAYS

MAX_SQL_LENGTH = 100_000
ShortText = Annotated[str, Field(max_length=200)]
UnitInterval = Annotated[float, Field(gt=0, lt=1)]
ShortTexts = Annotated[tuple[ShortText, ...], Field(max_length=100)]
Integers = Annotated[tuple[int, ...], Field(max_length=100)]
PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Epsilon = Annotated[float, Field(ge=MIN_EPSILON, allow_inf_nan=False)]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


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


class QuestionBody(QuestionFields):
    """A query, its cost and the form of its answer; at most one of epsilon, share and within."""

    sql: Annotated[str, Field(min_length=1, max_length=MAX_SQL_LENGTH)]

    @property
    def request(self) -> QuestionRequest:
        return QuestionRequest(**dict(self))


QuestionBodies = Annotated[
    list[QuestionBody],
    Field(min_length=1, max_length=MAX_QUESTIONS, description="Questions that are planned together."),
]


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


class AttackBody(AttackFields):
    """An attack on a release, by its number in the ledger, or without one on the answers."""

    release: Annotated[int | None, Field(description="The release's number in the ledger.")] = None
    table: ShortText | None = None
    claim: ShortText | None = None
    rules_out: Annotated[tuple[ShortText, ...], Field(max_length=20)] = ()


class ErrorBody(BaseModel):
    """An error: one sentence, a code for programs, and what to do next."""

    error: str
    code: str
    hint: str


class CheckBody(CheckFields):
    """A check of tables of the policy, or of all, and whether to accept them for analysts."""

    tables: ShortTexts = ()


class SynthesizeBody(SynthesizeFields):
    """A synthetic table, charged to an analyst's share; fields are the options of `discreet synthesize`."""

    kind: Literal["synthesize"]
    table: ShortText
    name: Annotated[FileName | None, Field(description="What the file is called; else as the table.")] = None
    analyst: ShortText | None = None
    epsilon: Epsilon | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] = 0
    columns: ShortTexts | None = None
    logarithmic: Annotated[ShortTexts, Field(alias="log")] = ()
    earlier: Annotated[
        Integers | Literal["all"], Field(alias="with", description="Answers to agree with, by their entries.")
    ] = ()


class AnonymizeBody(AnonymizeFields):
    """A generalized table that meets privacy models, or a charged one by the method `private`.

    Fields are the options of `discreet anonymize`, as in `l_diversity: ["disease:2:distinct"]`. The release
    is entered in the ledger.
    """

    model_config = ConfigDict(populate_by_name=False)

    kind: Literal["anonymize"]
    table: Annotated[ShortText, Field(description="A table of the policy.")]
    name: Annotated[FileName | None, Field(description="What the file is called; else as the table.")] = None
    population: Annotated[ShortText | None, Field(description="A table of the policy.")] = None
    weights: Annotated[
        dict[ShortText, PositiveNumber],
        Field(alias="weight", description="How much the information that a column loses counts."),
    ] = Field(default_factory=dict)
    seconds: Annotated[
        float | None, Field(gt=0, le=3_600, description="The most time to search; 60 if not given.")
    ] = None
    epsilon: Annotated[PositiveNumber | None, Field(description="The epsilon of the method private.")] = None
    delta: Annotated[UnitInterval | None, Field(description="The delta of the method private.")] = None
    others: Annotated[
        Integers, Field(alias="with", description="Releases that attackers have, too, by their numbers.")
    ] = ()


class AuditBody(AuditRequest):
    """An audit of a query or of a named mechanism: a lower bound on epsilon from runs on made-up tables."""

    kind: Literal["audit"]
    audited: Annotated[str, Field(min_length=1, max_length=MAX_SQL_LENGTH)]
    delta: UnitInterval | None = None
    runs: Annotated[int | None, Field(ge=1, le=10_000_000)] = None


class BoundsBody(BoundsRequest):
    """Bounds or values of a column to learn, charged to an analyst's share, as `discreet bounds` does.

    The server's policy file is not written: the result has the entries to put there.
    """

    kind: Literal["bounds"]
    table: ShortText
    column: ShortText
    analyst: ShortText | None = None
    epsilon: Epsilon | None = None
    false_positives: UnitInterval = DEFAULT_FALSE_POSITIVES


JobBody = Annotated[SynthesizeBody | AnonymizeBody | AuditBody | BoundsBody, Field(discriminator="kind")]
JOB_BODIES: tuple[type[BaseModel], ...] = (SynthesizeBody, AnonymizeBody, AuditBody, BoundsBody)
FIELDS_BY_ARGUMENT = {
    name: field.alias for body in JOB_BODIES for name, field in body.model_fields.items() if field.alias
}
"""The fields that are not named like the argument of the request, such as `with` and `log`."""
