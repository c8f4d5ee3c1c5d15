"""The options of all models, and the parsing of a model from the value of its option."""

from __future__ import annotations

import re
from collections.abc import Mapping

from discreet.anonymity.models import MODELS
from discreet.anonymity.models.model_option import (
    ListedModel,
    ModelOption,
    ModelSpec,
    get_variant,
    match_form,
)
from discreet.core.errors import InvalidParameterError

MODEL_OPTIONS: tuple[ModelOption, ...] = tuple(dict.fromkeys(kind.option for kind in MODELS))
"""Every option that asks for a model, once."""


def list_variants(option: ModelOption) -> tuple[type[ListedModel], ...]:
    """Return the models that an option can ask for."""
    return tuple(kind for kind in MODELS if kind.option is option)


def parse_model(option: ModelOption, value: object) -> ModelSpec:
    """Return the model that the value of an option denotes; a model that is built already is kept.

    >>> [parsed] = [parse_model(option, "disease:2:distinct") for option in MODEL_OPTIONS[3:4]]
    >>> parsed.kind.__name__, parsed.parameters
    ('DistinctDiversity', {'column': 'disease', 'l': 2})
    """
    if isinstance(value, ModelSpec):
        return value
    variants = list_variants(option)
    if option.is_number:
        return ModelSpec(kind=variants[0], parameters={variants[0].form.lower(): _check_count(option, value)})
    text = str(value)
    for kind in variants:
        texts = match_form(kind.form, text)
        parameters = None if texts is None else kind.parse(texts)
        if parameters is not None:
            return ModelSpec(kind=kind, parameters=parameters)
    expected = option.expected or _join_forms([kind.form for kind in variants])
    raise InvalidParameterError(f"{option.argument} must be {expected}; got {text}.", hint=option.hint)


def parse_model_text(text: str) -> ModelSpec:
    """Return the model that a text denotes as on the command line: its option and the value.

    >>> str(parse_model_text("l-diversity disease:2:distinct")), str(parse_model_text("k=5"))
    ('disease:2:distinct', '5')
    """
    match = re.fullmatch(r"-{0,2}([a-z-]+)[ =](.+)", text.strip(), re.DOTALL)
    options = {option.name.replace("_", "-"): option for option in MODEL_OPTIONS}
    if match is None or match[1] not in options:
        raise InvalidParameterError(
            "anonymize: `models=` must be of discreet.models, or texts such as "
            f"'l-diversity disease:2:distinct' with one of {', '.join(options)}; got {text!r}."
        )
    option, value = options[match[1]], match[2]
    return parse_model(option, int(value) if option.is_number and value.isdecimal() else value)


def list_variant_names(option: ModelOption) -> tuple[str, ...]:
    """Return the words by which the variants of an option are told apart."""
    return tuple(get_variant(kind.form) for kind in list_variants(option))


def parse_variant(option: ModelOption, variant: str, texts: Mapping[str, str]) -> ModelSpec:
    """Return the model of one variant from the text of each parameter, as a form has them."""
    kind = next(each for each in list_variants(option) if get_variant(each.form) == variant)
    parameters = kind.parse(texts)
    assert parameters is not None
    return ModelSpec(kind=kind, parameters=parameters)


def _check_count(option: ModelOption, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidParameterError(
            f"{option.argument} must be at least 1; got {value}.", hint=f"Write `{option.name}=5`."
        )
    return value


def _join_forms(forms: list[str]) -> str:
    return f"{', '.join(forms[:-1])} or {forms[-1]}" if len(forms) > 1 else forms[0]
