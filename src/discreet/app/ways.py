"""Promise options of the command line: a promise stated directly, or derived from an epsilon."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

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
from discreet.core.number_checks import parse_number, parse_probability, require_probability

Given = dict[str, str | int | bool | None]


def promised(given: Given) -> tuple[Promise, EpsilonChoice | None]:
    """Return the promise that the options state, and the choice of epsilon behind it, if any."""
    named = [way for way in WAYS if way in given]
    if len(named) != 1:
        others = ", ".join(each for each in WAYS if each != STATED)
        raise RequestError(
            "promise: state the promise in exactly one way.",
            hint=f"Give --prior and --posterior, or one of {others}.",
        )
    way = named[0]
    strange = sorted(set(given) - {way, "--prior", *WAYS[way].options})
    if strange:
        verb = "does" if len(strange) == 1 else "do"
        raise RequestError(
            f"{' and '.join(strange)} {verb} not apply to {way}.",
            hint=f"Leave out {' and '.join(strange)}, or state the promise by --prior and --posterior.",
        )
    for needed in WAYS[way].needs:
        if needed not in given:
            raise RequestError(f"{way} also needs {needed}.", hint=f"Add {needed}.")
    try:
        if way == STATED:
            return _stated(given), None
        choice = WAYS[way].choose(given)
        return choice.to_promise(_probability(given, "--prior", "1%")), choice
    except InvalidParameterError as error:
        raise InvalidParameterError(_as_typed(error.message, way), hint=error.hint) from None


def _text(given: Given, name: str, default: str) -> str:
    return str(given.get(name, default))


def _probability(given: Given, name: str, default: str = "") -> float:
    return parse_probability(name, _text(given, name, default))


def _number(given: Given, name: str, default: str = "") -> float:
    return parse_number(name, _text(given, name, default).lstrip("±"))


def _secret(given: Given) -> str:
    return _text(given, "--secret", "value")


def _confidence(given: Given) -> float:
    level = _probability(given, "--confidence", "95%")
    require_probability("promise", "level", level)
    return level


def _as_typed(message: str, way: str) -> str:
    """Return the message with the library's parameter replaced by the option that the user typed."""
    found = re.match(r"(\w+)\.(\w+) ", message)
    if found is None:
        return message
    owner, name = found.groups()
    option = way if name in ("alpha", "rho", "w", "ratio") else PARAMETERS.get(name, f"--{name}")
    return message if owner == "Relation" else message.replace(f"{owner}.{name}", option, 1)


def _stated(given: Given) -> Promise:
    return Promise(
        _probability(given, "--prior"),
        _probability(given, "--posterior"),
        secret=_secret(given),
        group=int(given.get("--group", 1) or 0),
        tail=_probability(given, "--tail", "0"),
    )


def _epsilon(given: Given) -> EpsilonChoice:
    return EpsilonChoice(
        name="As stated",
        epsilon=_number(given, "--epsilon"),
        relation=Relation.parse("promise", "secret", _secret(given)),
        note="If this is all that is ever spent:",
    )


def _within(given: Given) -> EpsilonChoice:
    return accuracy_first(
        _number(given, "--within"),
        1 - _confidence(given),
        sensitivity=_number(given, "--sensitivity", "1"),
        noise="geometric",
        secret=_secret(given),
    )


def _count(given: Given, name: str) -> int:
    return int(given.get(name) or 0)


@dataclass(frozen=True, kw_only=True)
class Way:
    """An option that determines the promise: the options it requires, and those it allows."""

    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    choose: Callable[[Given], EpsilonChoice] = _epsilon

    @property
    def options(self) -> tuple[str, ...]:
        return self.needs + self.also


STATED = "--posterior"
WAYS: dict[str, Way] = {
    STATED: Way(needs=("--prior",), also=("--secret", "--group", "--tail")),
    "--epsilon": Way(also=("--secret",)),
    "--within": Way(also=("--confidence", "--sensitivity", "--secret"), choose=_within),
    "--identifiability": Way(
        needs=("--candidates",),
        choose=lambda given: identifiability(
            _count(given, "--candidates"), _probability(given, "--identifiability")
        ),
    ),
    "--possible-worlds": Way(
        needs=("--candidates", "--spread"),
        also=("--sensitivity",),
        choose=lambda given: possible_worlds(
            _count(given, "--candidates"),
            _probability(given, "--possible-worlds"),
            sensitivity=_number(given, "--sensitivity", "1"),
            spread=_number(given, "--spread"),
        ),
    ),
    "--relative-error": Way(
        needs=("--count",),
        also=("--confidence", "--secret"),
        choose=lambda given: relative_error(
            _probability(given, "--relative-error"),
            _confidence(given),
            _number(given, "--count"),
            secret=_secret(given),
        ),
    ),
    "--risk-ratio": Way(
        needs=("--membership", "--attribute"),
        choose=lambda given: risk_profile(
            _probability(given, "--membership"),
            _probability(given, "--attribute"),
            _number(given, "--risk-ratio"),
        ),
    ),
    "--egm": Way(
        needs=("--rows", "--columns"),
        also=("--secret",),
        choose=lambda given: epsilon_generation(
            _count(given, "--rows"), _count(given, "--columns"), secret=_secret(given)
        ),
    ),
}
PARAMETERS = {
    "beta": "--confidence",
    "level": "--confidence",
    "m": "--candidates",
    "n": "--candidates",
    "p": "--membership",
    "q": "--attribute",
}
