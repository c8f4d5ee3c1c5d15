"""Options of a release as a Python caller gives them: typed, or as the texts of the command line.

Each function returns what the search needs, or refuses in one sentence that names the argument. A request of
another frontend is typed already, and passes unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

import pyarrow as pa

from discreet.anonymity.models import Model
from discreet.anonymity.models.posterior_cap import PosteriorCap
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms
from discreet.anonymity.search import Objective, find_objective
from discreet.anonymity.search.objectives import Loss
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter, shorten_value
from discreet.core.number_checks import is_real, require_count, require_probability
from discreet.services.anonymize.anonymize_request import parse_centres, parse_levels, parse_weights
from discreet.services.request_fields import split_names

Choice = TypeVar("Choice", bound=Enum)
Value = TypeVar("Value")
VERB = "anonymize"

Texts = Sequence[str] | str
"""COLUMN=VALUE, several of them in a list or with commas between."""


def read_models(models: object, *, has_posterior: bool) -> tuple[Model, ...]:
    """Return the models; without any, a cap on the posterior must be given: there is no default."""
    listed = () if models is None else models
    fits = isinstance(listed, Sequence) and not isinstance(listed, str)
    require_parameter(fits, VERB, "models", models, "a list of models of discreet.models")
    assert isinstance(listed, Sequence)
    for each in listed:
        is_model = callable(getattr(each, "judge", None)) and not isinstance(each, type)
        require_parameter(is_model, VERB, "models", repr(each), "models of discreet.models")
    if not listed and not has_posterior:
        raise RequestError("anonymize: no privacy model is given.", hint="Start with `k=5`.")
    return tuple(listed)


def read_posterior(posterior: object) -> PosteriorCap | None:
    """Return a cap on the belief in sensitive values, from a probability or a text such as 20%:equal."""
    if posterior is None or isinstance(posterior, PosteriorCap):
        return posterior
    if isinstance(posterior, str):
        return PosteriorCap.parse(posterior)
    require_probability(VERB, "posterior", posterior)
    assert isinstance(posterior, int | float)
    return PosteriorCap(cap=posterior)


def read_objective(objective: object) -> Objective:
    """Return an objective that was given as such or by its name."""
    if objective is None:
        return Loss()
    if isinstance(objective, str):
        return find_objective(objective)
    fits = callable(getattr(objective, "for_table", None))
    require_parameter(fits, VERB, "objective", objective, "the name of an objective, such as 'loss'")
    return objective  # type: ignore[return-value]


def read_choice(name: str, choices: type[Choice], value: object) -> Choice:
    """Return the member that a value names, or refuse it with the values there are."""
    try:
        return choices(value)
    except ValueError:
        listed = ", ".join(str(each.value) for each in choices)
        require_parameter(False, VERB, name, value, f"one of {listed}")
        raise


def read_weights(weights: Mapping[str, float] | Texts | None) -> dict[str, float]:
    """Return how much each column counts, from a dict or from texts such as age=2."""
    found = _read_pairs("weights", weights, parse_weights, "age=2")
    for each in found.values():
        require_parameter(is_real(each) and each >= 0, VERB, "weights", each, "numbers of at least 0")
    return found


def read_levels(levels: Mapping[str, int] | Texts | None) -> dict[str, int] | None:
    """Return the level of each column, from a dict or from texts such as age=2; None without any."""
    if levels is None:
        return None
    found = _read_pairs("levels", levels, parse_levels, "age=2")
    for each in found.values():
        require_count(VERB, "levels", each, minimum=0)
    return found


def read_centres(centres: Mapping[str, Centre | str] | Texts | None) -> dict[str, Centre]:
    """Return the centre that each column shows, from a dict or from texts such as age=mean."""
    found: dict[str, Centre | str] = _read_pairs("centres", centres, parse_centres, "age=mean")
    return {name: read_choice("centres", Centre, each) for name, each in found.items()}


def read_pseudonyms(pseudonyms: object) -> tuple[Pseudonyms, ...]:
    """Return the pseudonyms of columns under a key."""
    listed = pseudonyms if isinstance(pseudonyms, Sequence) else (pseudonyms,)
    fits = all(isinstance(each, Pseudonyms) for each in listed)
    require_parameter(fits, VERB, "pseudonyms", pseudonyms, "given with `key=`, the file of their key")
    return tuple(listed)


def require_unit(unit: object) -> None:
    """Refuse a unit other than rows; people are counted where none is given."""
    require_parameter(unit in (None, "row"), VERB, "unit", unit, "row", hint="Omit it to count people.")


def require_column_names(name: str, columns: object) -> None:
    """Refuse what is not a list of names."""
    listed = isinstance(columns, Sequence) and not isinstance(columns, str)
    fits = listed and all(isinstance(each, str) for each in columns)  # type: ignore[attr-defined]
    require_parameter(fits, VERB, name, columns, "a list of columns")


def require_signatures(earlier: object) -> None:
    """Refuse an earlier release that is not the Arrow table of its signatures."""
    fits = earlier is None or isinstance(earlier, pa.Table)
    require_parameter(fits, VERB, "earlier", earlier, "the Arrow table of the earlier release's signatures")


def _read_pairs(
    name: str, given: object, parse: Callable[[Sequence[str]], Mapping[str, Value]], example: str
) -> dict[str, Value]:
    """Return columns with their values, from a dict or from texts."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        named = all(isinstance(column, str) for column in given)
        require_parameter(named, VERB, name, list(given), "given by the names of columns")
        return dict(given)
    texts = split_names(given) if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(each, str) for each in texts):
        column, _, value = example.partition("=")
        shown = value if value.isdecimal() else repr(value)
        raise InvalidParameterError(
            f"anonymize: `{name}=` must be a dict such as {{{column!r}: {shown}}}, or a text such as "
            f"{example}; got {shorten_value(given)}."
        )
    return dict(parse(texts))
