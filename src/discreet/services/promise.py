"""A promise, stated by prior and posterior, or found from an epsilon that was chosen in another way.

`PromiseRequest` has a field for each number; the one of `METHODS` that is given says how it is stated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.belief import (
    EpsilonChoice,
    Promise,
    accuracy_first,
    epsilon_generation,
    identifiability,
    possible_worlds,
    relative_error,
    risk_profile,
)
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real, require_probability
from discreet.services.request_fields import OUTPUT_PANEL, CommandLine, accept_number, accept_probability

PROMISE_PANEL, EPSILON_PANEL, ERROR_PANEL = "The promise", "Or an epsilon", "Or the error of one answer"
ATTACKER_PANEL, EGM_PANEL = "Or what an attacker may find out", "Or the heuristic of EGM"
DEFAULT_PRIOR = 0.01


class PromiseRequest(BaseModel):
    """A promise to explain; fields that are None were not given."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    prior: Annotated[
        Real | None,
        Field(description="An attacker's highest belief beforehand: 1%."),
        *accept_probability("`prior=`"),
        CommandLine(panel=PROMISE_PANEL),
    ] = None
    posterior: Annotated[
        Real | None,
        Field(description="The highest belief allowed afterwards: 5%."),
        *accept_probability("`posterior=`"),
        CommandLine(panel=PROMISE_PANEL),
    ] = None
    secret: Annotated[
        str | None,
        Field(description="The secret to protect: value (the default) or presence."),
        CommandLine(panel=PROMISE_PANEL, metavar="value|presence"),
    ] = None
    group: Annotated[
        int | None,
        Field(description="The size of a group protected together, such as a household."),
        CommandLine(panel=PROMISE_PANEL, metavar="N"),
    ] = None
    tail: Annotated[
        Real | None,
        Field(description="The probability, per person, that the posterior may be exceeded."),
        *accept_probability("`tail=`"),
        CommandLine(panel=PROMISE_PANEL),
    ] = None
    epsilon: Annotated[
        Real | None,
        Field(description="Explain this epsilon."),
        *accept_number("`epsilon=`"),
        CommandLine(panel=EPSILON_PANEL),
    ] = None
    within: Annotated[
        Real | None,
        Field(description="One answer is within ± this, at `confidence=`."),
        *accept_number("`within=`"),
        CommandLine(panel=ERROR_PANEL, metavar="ERROR"),
    ] = None
    confidence: Annotated[
        Real | None,
        Field(description="The confidence of the error; 95% by default."),
        *accept_probability("`confidence=`"),
        CommandLine(panel=ERROR_PANEL),
    ] = None
    sensitivity: Annotated[
        Real | None,
        Field(description="How much one person changes the answer; 1 by default."),
        *accept_number("`sensitivity=`"),
        CommandLine(panel=ERROR_PANEL),
    ] = None
    identifiability: Annotated[
        Real | None,
        Field(description="The highest belief that a person is any one of `candidates=`."),
        *accept_probability("`identifiability=`"),
        CommandLine(panel=ATTACKER_PANEL),
    ] = None
    possible_worlds: Annotated[
        Real | None,
        Field(description="The same by Lee and Clifton, with `candidates=` and `spread=`."),
        *accept_probability("`possible_worlds=`"),
        CommandLine(panel=ATTACKER_PANEL),
    ] = None
    candidates: Annotated[
        int | None, Field(description="How many people it could be."), CommandLine(panel=ATTACKER_PANEL)
    ] = None
    spread: Annotated[
        Real | None,
        Field(description="How far apart the answers without each of them are."),
        *accept_number("`spread=`"),
        CommandLine(panel=ATTACKER_PANEL),
    ] = None
    relative_error: Annotated[
        Real | None,
        Field(description="A count of about `count=` is within this share, at `confidence=`."),
        *accept_probability("`relative_error=`"),
        CommandLine(panel=ERROR_PANEL),
    ] = None
    count: Annotated[
        Real | None,
        Field(description="The public count that `relative_error=` refers to."),
        *accept_number("`count=`"),
        CommandLine(panel=ERROR_PANEL),
    ] = None
    risk_ratio: Annotated[
        Real | None,
        Field(description="The highest factor by which a belief grows, with `membership=` and `attribute=`."),
        *accept_number("`risk_ratio=`"),
        CommandLine(panel=ATTACKER_PANEL),
    ] = None
    membership: Annotated[
        Real | None,
        Field(description="The probability that a person is in the data."),
        *accept_probability("`membership=`"),
        CommandLine(panel=ATTACKER_PANEL),
    ] = None
    attribute: Annotated[
        Real | None,
        Field(description="The probability of the value for a person in the data."),
        *accept_probability("`attribute=`"),
        CommandLine(panel=ATTACKER_PANEL),
    ] = None
    egm: Annotated[
        bool,
        Field(description="The Epsilon Generation Model, with `rows=` and `columns=`."),
        CommandLine(panel=EGM_PANEL),
    ] = False
    rows: Annotated[int | None, Field(description="Rows of the table."), CommandLine(panel=EGM_PANEL)] = None
    columns: Annotated[
        int | None, Field(description="Columns of the table."), CommandLine(panel=EGM_PANEL)
    ] = None
    people: Annotated[
        int | None,
        Field(description="How many people are in the data, to explain a tail."),
        CommandLine(panel=OUTPUT_PANEL),
    ] = None

    def get_given_fields(self) -> dict[str, object]:
        """Return what was given; `people` is about the explanation alone."""
        return {
            name: value
            for name, value in self
            if value is not None and value is not False and name != "people"
        }

    @property
    def relation(self) -> str:
        return self.secret or Relation.VALUE.value

    def require_confidence(self) -> float:
        level = DEFAULT_CONFIDENCE if self.confidence is None else self.confidence
        require_probability("promise", "confidence", level)
        return float(level)


def state_promise(request: PromiseRequest) -> tuple[Promise, EpsilonChoice | None]:
    """Return the promise that a request states, and the choice of epsilon behind it, if any."""
    given = request.get_given_fields()
    methods = [name for name in METHODS if name in given]
    if len(methods) != 1:
        others = ", ".join(f"`{each}=`" for each in METHODS if each != STATED)
        raise RequestError(
            "promise: state the promise in exactly one way.",
            hint=f"Give `prior=` and `posterior=`, or one of {others}.",
        )
    name, method = methods[0], METHODS[methods[0]]
    allowed = {name, "prior", *method.required, *method.optional}
    strange = [f"`{each}=`" for each in sorted({*given} - allowed)]
    if strange:
        listed, verb = " and ".join(strange), "does" if len(strange) == 1 else "do"
        raise RequestError(
            f"{listed} {verb} not apply to `{name}=`.",
            hint=f"Leave out {listed}, or state the promise by `prior=` and `posterior=`.",
        )
    for needed in method.required:
        if needed not in given:
            raise RequestError(f"`{name}=` also needs `{needed}=`.", hint=f"Add `{needed}=`.")
    try:
        if method.choose is None:
            return _build_stated_promise(request), None
        choice = method.choose(request)
        return choice.to_promise(DEFAULT_PRIOR if request.prior is None else float(request.prior)), choice
    except InvalidParameterError as error:
        raise InvalidParameterError(_name_argument(error.message, name), hint=error.hint) from None


def _name_argument(message: str, method: str) -> str:
    """Return the message with the library's parameter replaced by the field that was given."""
    found = re.match(r"(?P<owner>\w+)(\.(?P<field>\w+)|: `(?P<argument>\w+)=`) ", message)
    if found is None or found["owner"] == "Relation":
        return message
    name = found["field"] or found["argument"]
    field = method if name in ("alpha", "rho", "w", "ratio") else FIELDS_BY_PARAMETER.get(name, name)
    return f"`{field}=` {message[found.end() :]}"


def _build_stated_promise(request: PromiseRequest) -> Promise:
    assert request.prior is not None
    assert request.posterior is not None
    return Promise(
        request.prior,
        request.posterior,
        secret=request.relation,
        group=1 if request.group is None else request.group,
        tail=request.tail or 0,
    )


def _choose_given_epsilon(request: PromiseRequest) -> EpsilonChoice:
    return EpsilonChoice(
        name="As stated",
        epsilon=_get_number(request.epsilon),
        relation=Relation.parse("promise", "secret", request.relation),
        note="If this is all that is ever spent:",
    )


def _choose_epsilon_for_error(request: PromiseRequest) -> EpsilonChoice:
    return accuracy_first(
        _get_number(request.within),
        1 - request.require_confidence(),
        sensitivity=_get_number(request.sensitivity, 1),
        noise="geometric",
        secret=request.relation,
    )


def _get_number(value: Real | None, default: float = 0) -> float:
    return default if value is None else float(value)


@dataclass(frozen=True, kw_only=True)
class PromiseMethod:
    """A field that determines the promise: the fields it requires, those it allows, its choice of epsilon."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    choose: Callable[[PromiseRequest], EpsilonChoice] | None = None


STATED = "posterior"
METHODS: dict[str, PromiseMethod] = {
    STATED: PromiseMethod(required=("prior",), optional=("secret", "group", "tail")),
    "epsilon": PromiseMethod(optional=("secret",), choose=_choose_given_epsilon),
    "within": PromiseMethod(
        optional=("confidence", "sensitivity", "secret"), choose=_choose_epsilon_for_error
    ),
    "identifiability": PromiseMethod(
        required=("candidates",),
        choose=lambda given: identifiability(given.candidates or 0, _get_number(given.identifiability)),
    ),
    "possible_worlds": PromiseMethod(
        required=("candidates", "spread"),
        optional=("sensitivity",),
        choose=lambda given: possible_worlds(
            given.candidates or 0,
            _get_number(given.possible_worlds),
            sensitivity=_get_number(given.sensitivity, 1),
            spread=_get_number(given.spread),
        ),
    ),
    "relative_error": PromiseMethod(
        required=("count",),
        optional=("confidence", "secret"),
        choose=lambda given: relative_error(
            _get_number(given.relative_error),
            given.require_confidence(),
            _get_number(given.count),
            secret=given.relation,
        ),
    ),
    "risk_ratio": PromiseMethod(
        required=("membership", "attribute"),
        choose=lambda given: risk_profile(
            _get_number(given.membership), _get_number(given.attribute), _get_number(given.risk_ratio)
        ),
    ),
    "egm": PromiseMethod(
        required=("rows", "columns"),
        optional=("secret",),
        choose=lambda given: epsilon_generation(given.rows or 0, given.columns or 0, secret=given.relation),
    ),
}
FIELDS_BY_PARAMETER = {
    "beta": "confidence",
    "m": "candidates",
    "n": "candidates",
    "p": "membership",
    "q": "attribute",
}
"""Fields that the parameters of `belief` are called by."""
