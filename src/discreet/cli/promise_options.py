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

PromiseOptions = dict[str, str | int | bool | None]


def parse_promise(options: PromiseOptions) -> tuple[Promise, EpsilonChoice | None]:
    """Return the promise that the options state, and the choice of epsilon behind it, if any."""
    named = [way for way in PROMISE_METHODS if way in options]
    if len(named) != 1:
        others = ", ".join(each for each in PROMISE_METHODS if each != POSTERIOR_OPTION)
        raise RequestError(
            "promise: state the promise in exactly one way.",
            hint=f"Give --prior and --posterior, or one of {others}.",
        )
    way = named[0]
    strange = sorted(set(options) - {way, "--prior", *PROMISE_METHODS[way].allowed_options})
    if strange:
        verb = "does" if len(strange) == 1 else "do"
        raise RequestError(
            f"{' and '.join(strange)} {verb} not apply to {way}.",
            hint=f"Leave out {' and '.join(strange)}, or state the promise by --prior and --posterior.",
        )
    for needed in PROMISE_METHODS[way].required:
        if needed not in options:
            raise RequestError(f"{way} also needs {needed}.", hint=f"Add {needed}.")
    try:
        if way == POSTERIOR_OPTION:
            return _build_stated_promise(options), None
        choice = PROMISE_METHODS[way].choose(options)
        return choice.to_promise(_parse_probability_option(options, "--prior", "1%")), choice
    except InvalidParameterError as error:
        raise InvalidParameterError(_name_typed_option(error.message, way), hint=error.hint) from None


def _get_text(options: PromiseOptions, name: str, default: str) -> str:
    return str(options.get(name, default))


def _parse_probability_option(options: PromiseOptions, name: str, default: str = "") -> float:
    return parse_probability(name, _get_text(options, name, default))


def _parse_number_option(options: PromiseOptions, name: str, default: str = "") -> float:
    return parse_number(name, _get_text(options, name, default).lstrip("±"))


def _get_secret(options: PromiseOptions) -> str:
    return _get_text(options, "--secret", "value")


def _parse_confidence(options: PromiseOptions) -> float:
    level = _parse_probability_option(options, "--confidence", "95%")
    require_probability("promise", "level", level)
    return level


def _name_typed_option(message: str, method: str) -> str:
    """Return the message with the library's parameter replaced by the option that the user typed."""
    found = re.match(r"(\w+)\.(\w+) ", message)
    if found is None:
        return message
    owner, name = found.groups()
    option = method if name in ("alpha", "rho", "w", "ratio") else OPTIONS_BY_PARAMETER.get(name, f"--{name}")
    return message if owner == "Relation" else message.replace(f"{owner}.{name}", option, 1)


def _build_stated_promise(options: PromiseOptions) -> Promise:
    return Promise(
        _parse_probability_option(options, "--prior"),
        _parse_probability_option(options, "--posterior"),
        secret=_get_secret(options),
        group=int(options.get("--group", 1) or 0),
        tail=_parse_probability_option(options, "--tail", "0"),
    )


def _choose_given_epsilon(options: PromiseOptions) -> EpsilonChoice:
    return EpsilonChoice(
        name="As stated",
        epsilon=_parse_number_option(options, "--epsilon"),
        relation=Relation.parse("promise", "secret", _get_secret(options)),
        note="If this is all that is ever spent:",
    )


def _choose_epsilon_for_error(options: PromiseOptions) -> EpsilonChoice:
    return accuracy_first(
        _parse_number_option(options, "--within"),
        1 - _parse_confidence(options),
        sensitivity=_parse_number_option(options, "--sensitivity", "1"),
        noise="geometric",
        secret=_get_secret(options),
    )


def _get_count(options: PromiseOptions, name: str) -> int:
    return int(options.get(name) or 0)


@dataclass(frozen=True, kw_only=True)
class PromiseMethod:
    """An option that determines the promise: the options it requires, and those it allows."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    choose: Callable[[PromiseOptions], EpsilonChoice] = _choose_given_epsilon

    @property
    def allowed_options(self) -> tuple[str, ...]:
        return self.required + self.optional


POSTERIOR_OPTION = "--posterior"
PROMISE_METHODS: dict[str, PromiseMethod] = {
    POSTERIOR_OPTION: PromiseMethod(required=("--prior",), optional=("--secret", "--group", "--tail")),
    "--epsilon": PromiseMethod(optional=("--secret",)),
    "--within": PromiseMethod(
        optional=("--confidence", "--sensitivity", "--secret"), choose=_choose_epsilon_for_error
    ),
    "--identifiability": PromiseMethod(
        required=("--candidates",),
        choose=lambda given: identifiability(
            _get_count(given, "--candidates"), _parse_probability_option(given, "--identifiability")
        ),
    ),
    "--possible-worlds": PromiseMethod(
        required=("--candidates", "--spread"),
        optional=("--sensitivity",),
        choose=lambda given: possible_worlds(
            _get_count(given, "--candidates"),
            _parse_probability_option(given, "--possible-worlds"),
            sensitivity=_parse_number_option(given, "--sensitivity", "1"),
            spread=_parse_number_option(given, "--spread"),
        ),
    ),
    "--relative-error": PromiseMethod(
        required=("--count",),
        optional=("--confidence", "--secret"),
        choose=lambda given: relative_error(
            _parse_probability_option(given, "--relative-error"),
            _parse_confidence(given),
            _parse_number_option(given, "--count"),
            secret=_get_secret(given),
        ),
    ),
    "--risk-ratio": PromiseMethod(
        required=("--membership", "--attribute"),
        choose=lambda given: risk_profile(
            _parse_probability_option(given, "--membership"),
            _parse_probability_option(given, "--attribute"),
            _parse_number_option(given, "--risk-ratio"),
        ),
    ),
    "--egm": PromiseMethod(
        required=("--rows", "--columns"),
        optional=("--secret",),
        choose=lambda given: epsilon_generation(
            _get_count(given, "--rows"), _get_count(given, "--columns"), secret=_get_secret(given)
        ),
    ),
}
OPTIONS_BY_PARAMETER = {
    "beta": "--confidence",
    "level": "--confidence",
    "m": "--candidates",
    "n": "--candidates",
    "p": "--membership",
    "q": "--attribute",
}
