"""The request of `audit`: options of the command line, HTTP body and Python arguments derive from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real, require_positive, require_probability
from discreet.mechanisms import MECHANISMS, get_mechanism_name
from discreet.services.request_fields import CommandLine, accept_number, accept_probability

QUESTION_STARTS = ("select ", "with ")
CLAIM_PANEL, RUNS_PANEL = "What is checked", "Runs"
MECHANISM_NAMES = ", ".join(get_mechanism_name(kind) for kind in MECHANISMS)


def is_question(subject: str) -> bool:
    """Return True for a question (SQL text), False for the name of a mechanism."""
    return subject.lstrip().lower().startswith(QUESTION_STARTS)


def _check_epsilon(value: Real | None) -> float | None:
    if value is None:
        return None
    require_positive("audit", "epsilon", value)
    return float(value)


def _check_confidence(value: Real) -> float:
    require_probability("audit", "confidence", value)
    return float(value)


class AuditRequest(BaseModel):
    """A mechanism by name or a question in SQL, the epsilon that it claims, and how to test the claim.

    With `posterior`, beliefs are audited too; with `session`, the question is asked until it is refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    audited: Annotated[
        str,
        Field(
            description=f"A question under a policy; or one of {MECHANISM_NAMES} (geometric is "
            "discrete-laplace)."
        ),
        CommandLine(is_argument=True, metavar="MECHANISM|SQL"),
    ]
    epsilon: Annotated[
        float | None,
        Field(
            description="The epsilon to check, or of each question of a session; 1 or the policy's by "
            "default."
        ),
        *accept_number("`epsilon=`", exclusiveMinimum=0),
        AfterValidator(_check_epsilon),
        CommandLine(panel=CLAIM_PANEL),
    ] = None
    delta: Annotated[
        float | None,
        Field(description="For mechanisms that have one; 1e-6 by default."),
        *accept_number("`delta=`", minimum=0, exclusiveMaximum=1),
        CommandLine(panel=CLAIM_PANEL),
    ] = None
    runs: Annotated[
        int | None,
        Field(description="How often to run it on each of two neighbouring databases."),
        CommandLine(panel=RUNS_PANEL),
    ] = None
    confidence: Annotated[
        float,
        Field(description="The confidence of the bound."),
        *accept_probability("`confidence=`", nullable=False),
        AfterValidator(_check_confidence),
        CommandLine(typed=str, default="95%", panel=RUNS_PANEL),
    ] = DEFAULT_CONFIDENCE
    posterior: Annotated[
        bool,
        Field(description="For a question: also compare attackers' beliefs with the promise."),
        CommandLine(panel=CLAIM_PANEL),
    ] = False
    session: Annotated[
        bool,
        Field(description="Audit the whole curator: ask a question until the budget is spent."),
        CommandLine(panel=CLAIM_PANEL),
    ] = False
