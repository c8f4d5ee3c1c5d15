"""Request bodies of jobs.

Tables are those of the policy, releases those of the ledger. No body names a path, so the custodian's
password does not open other files of the server.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.app.http.bodies import LONGEST_SQL, Body, Part, Word
from discreet.app.once import LEAST_EPSILON

Words = Annotated[tuple[Word, ...], Field(max_length=100)]
Numbers = Annotated[tuple[int, ...], Field(max_length=100)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Epsilon = Annotated[float, Field(ge=LEAST_EPSILON, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


class Synthesize(Body):
    """A synthetic table, charged to an analyst's share; fields are the options of `discreet synthesize`."""

    kind: Literal["synthesize"]
    table: Word
    name: Annotated[Name | None, Field(description="What the file is called; else as the table.")] = None
    analyst: Word | None = None
    epsilon: Epsilon | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] = 0
    quality: Literal["lean", "best"] = "lean"
    columns: Words | None = None
    log: Words = ()
    agree: Annotated[
        Numbers | Literal["all"], Field(alias="with", description="Answers to agree with, by their entries.")
    ] = ()


class Anonymize(Body):
    """A generalized table that meets privacy models, or a charged one by the method `private`.

    Fields are the options of `discreet anonymize`, as in `l_diversity: ["disease:2:distinct"]`. The release
    is entered in the ledger.
    """

    kind: Literal["anonymize"]
    table: Word
    name: Annotated[Name | None, Field(description="What the file is called; else as the table.")] = None
    k: Annotated[int | None, Field(ge=1)] = None
    l_diversity: Words = ()
    t_closeness: Words = ()
    delta_presence: Word | None = None
    k_map: Annotated[int | None, Field(ge=1)] = None
    alpha: Words = ()
    delta_disclosure: Words = ()
    beta_likeness: Words = ()
    risk: Words = ()
    posterior: Word | None = None
    population: Annotated[Word | None, Field(description="A table of the policy.")] = None
    sampling: Word | None = None
    suppress: Word = "0"
    objective: Word = "loss"
    method: Word = "generalize"
    level: dict[Word, Annotated[int, Field(ge=0, le=999)]] = Field(default_factory=dict)
    centre: dict[Word, Literal["mean", "median"]] = Field(default_factory=dict)
    weight: dict[Word, Amount] = Field(default_factory=dict)
    unit: Literal["row"] | None = None
    seconds: Annotated[float | None, Field(gt=0, le=3_600)] = None
    epsilon: Amount | None = None
    delta: Part | None = None
    analyst: Word | None = None
    at_most: Word | None = None
    others: Annotated[
        Numbers, Field(alias="with", description="Releases that attackers have, too, by their numbers.")
    ] = ()
    force: bool = False


class Audit(Body):
    """An audit of a query or of a named mechanism: a lower bound on epsilon from runs on made-up tables."""

    kind: Literal["audit"]
    audited: Annotated[str, Field(min_length=1, max_length=LONGEST_SQL)]
    epsilon: Amount | None = None
    delta: Part | None = None
    runs: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    confidence: Part = 0.95
    posterior: bool = False
    session: bool = False


JobBody = Annotated[Synthesize | Anonymize | Audit, Field(discriminator="kind")]
