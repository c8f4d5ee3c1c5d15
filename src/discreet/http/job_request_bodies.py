"""Request bodies of jobs.

Tables are those of the policy, releases those of the ledger. No body names a path, so the custodian's
password does not open other files of the server.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.http.request_bodies import MAX_SQL_LENGTH, RequestBody, ShortText, UnitInterval
from discreet.services.anonymize.anonymize_request import AnonymizeFields
from discreet.services.audit.audit_dispatch import AuditRequest
from discreet.services.release_cache import MIN_EPSILON

ShortTexts = Annotated[tuple[ShortText, ...], Field(max_length=100)]
Integers = Annotated[tuple[int, ...], Field(max_length=100)]
PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Epsilon = Annotated[float, Field(ge=MIN_EPSILON, allow_inf_nan=False)]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


class SynthesizeBody(RequestBody):
    """A synthetic table, charged to an analyst's share; fields are the options of `discreet synthesize`."""

    kind: Literal["synthesize"]
    table: ShortText
    name: Annotated[FileName | None, Field(description="What the file is called; else as the table.")] = None
    analyst: ShortText | None = None
    epsilon: Epsilon | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] = 0
    quality: Literal["lean", "best"] = "lean"
    columns: ShortTexts | None = None
    log: ShortTexts = ()
    agree: Annotated[
        Integers | Literal["all"], Field(alias="with", description="Answers to agree with, by their entries.")
    ] = ()


class AnonymizeBody(AnonymizeFields):
    """A generalized table that meets privacy models, or a charged one by the method `private`.

    Fields are the options of `discreet anonymize`, as in `l_diversity: ["disease:2:distinct"]`. The release
    is entered in the ledger.
    """

    kind: Literal["anonymize"]
    table: Annotated[ShortText, Field(description="A table of the policy.")]
    name: Annotated[FileName | None, Field(description="What the file is called; else as the table.")] = None
    population: Annotated[ShortText | None, Field(description="A table of the policy.")] = None
    weight: Annotated[
        dict[str, PositiveNumber], Field(description="How much the information that a column loses counts.")
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
    epsilon: PositiveNumber | None = None
    delta: UnitInterval | None = None
    runs: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    confidence: UnitInterval = 0.95


JobBody = Annotated[SynthesizeBody | AnonymizeBody | AuditBody, Field(discriminator="kind")]
