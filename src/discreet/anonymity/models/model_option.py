"""How a request asks for a model, and what the model then lets an attacker believe.

Each model names its option and the form of its text; the command line's options, the fields of the HTTP body
and the parsing of both follow from `MODELS`. Variants of one model share an option:

    option        --l-diversity, the field l_diversity
    form          COLUMN:L:distinct     words in capitals are parameters, the others are literal
    text          disease:2:distinct
    ModelSpec     DistinctDiversity, column "disease", l 2
    model         what `ModelSpec.build` makes of it, with what the table and the rest of the request add

Parameters are checked on input and stored as exact fractions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.privacy_model import MeasuredModel
from discreet.belief.wording import format_number
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter
from discreet.core.number_checks import is_real

LINKAGE = "linkage"
CLASS_INFERENCE = "class inference"
"""Names of attacks whose belief a model bounds; the others are in `privacy_model`."""

Shares = Mapping[str, float]
"""The share of the commonest value of each sensitive column in the whole table."""


@dataclass(frozen=True, kw_only=True)
class ModelOption:
    """An option of the command line, and the field of the same name in a request."""

    name: str
    help: str
    flag: str = ""
    """The option, where it is not the name: -k."""

    model: str = ""
    """The name of the model in a form, where it is not the option's: k-anonymity."""

    expected: str = ""
    """What an invalid text should have been, where that is not the list of forms."""

    hint: str = ""
    is_number: bool = False
    """Whether the value is a whole number of at least 1; otherwise it is a text."""

    is_repeated: bool = True
    """Whether it can be given for several columns."""

    needs_file: bool = False
    """Whether it is of use only with a file of the custodian's, which no HTTP body may name."""

    @property
    def argument(self) -> str:
        """The field as messages name it."""
        return f"`{self.name}=`"

    @property
    def label(self) -> str:
        """The name of the model on a form."""
        return self.model or self.name.replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class ModelContext:
    """Facts that models take from the table and from the rest of the request."""

    k: int | None = None
    has_population: bool = False
    find_hierarchy: Callable[[str], Hierarchy | None] = lambda _: None

    def require_population(self, option: str) -> None:
        """Raise if the request names no population."""
        if not self.has_population:
            raise RequestError(
                f"{option} needs a population table, and there is none.",
                hint='Name one with `population="FILE"`.',
            )


@dataclass(frozen=True, kw_only=True)
class ModelBound:
    """An upper bound, exclusive if `is_strict`, on the belief that one attack reaches under a model."""

    attack: str
    limit: float
    column: str | None = None
    is_strict: bool = False


@runtime_checkable
class RequestedModel(Protocol):
    """A model's option, and the belief that the model bounds."""

    option: ClassVar[ModelOption]
    form: ClassVar[str]
    bounds_repeated_values: ClassVar[bool] = False
    """Whether the bounds are about people also where they have several values of the column."""

    bounds_person_belief: ClassVar[bool] = False
    """Whether the belief in any value is bounded for a person with any number of values."""

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, object] | None:
        """Return the parameters that the texts of the form denote, or None if they are of another form."""
        return dict(texts)

    @classmethod
    def build(cls, context: ModelContext, **parameters: Any) -> Self:
        """Return the model, completed from the table and from the rest of the request."""
        return cls(**parameters)

    def derive_bounds(self, shares: Shares) -> Iterable[ModelBound]:
        """Return bounds on beliefs of an attacker who knows quasi-identifiers only; `shares` may be empty."""
        return ()


class ListedModel(MeasuredModel, RequestedModel, Protocol):
    """A member of `MODELS`."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model as requested: its class, and the parameters that the request gives."""

    kind: type[ListedModel]
    parameters: Mapping[str, object]

    def build(self, context: ModelContext) -> ListedModel:
        """Return the model for a table."""
        return self.kind.build(context, **self.parameters)

    def __str__(self) -> str:
        """Return the text of the option, such as disease:2:distinct."""
        words = self.kind.form.split(":")
        return ":".join(str(self.parameters[word.lower()]) if word.isupper() else word for word in words)


def bound_class_inference(column: str, limit: float) -> ModelBound:
    """Return the bound of a model that compares with the table's shares."""
    # the limit is a rounded sum or product, so an exact tie needs slack
    return ModelBound(attack=CLASS_INFERENCE, limit=min(1.0, limit * (1 + 1e-12)), column=column)


def get_variant(form: str) -> str:
    """Return the literal word of a form, by which variants of one option differ.

    >>> get_variant("COLUMN:L:recursive:C")
    'recursive'
    """
    return next((word for word in form.split(":") if not word.isupper()), "")


def match_form(form: str, text: str) -> dict[str, str] | None:
    """Return the texts of a form's parameters, or None if the text has another form.

    A column's name may contain colons; nothing else may.

    >>> match_form("COLUMN:L:distinct", "ill: why:2:distinct")
    {'column': 'ill: why', 'l': '2'}
    """
    patterns = [
        (f"(?P<{word.lower()}>{'.+' if word == 'COLUMN' else '[^:]+'})" if word.isupper() else word)
        for word in form.split(":")
    ]
    match = re.fullmatch(":".join(patterns), text, re.DOTALL)
    return None if match is None else match.groupdict()


L_DIVERSITY = ModelOption(
    name="l_diversity", help="COLUMN:2:distinct|probabilistic|entropy, or COLUMN:3:recursive:4 (l, c)."
)
"""The option of the four variants of l-diversity."""


LONGEST = 40


def to_fraction(value: object) -> Fraction | None:
    """Return the fraction that a number denotes; a float denotes the decimal that it prints as.

    >>> to_fraction(0.2), to_fraction(3)
    (Fraction(1, 5), Fraction(3, 1))
    """
    if isinstance(value, Fraction):
        return value
    if not is_real(value):
        return None
    return Fraction(str(value))


def coerce_share(owner: object, name: str, *, least: bool = True) -> None:
    """Store a field of a frozen dataclass as a fraction of [0, 1]; of ]0, 1] if not `least`."""
    value = getattr(owner, name)
    share = to_fraction(value)
    holds = share is not None and 0 <= share <= 1 and (least or share > 0)
    require_parameter(
        holds, owner, name, value, "a number from 0 to 1" if least else "a number above 0, at most 1"
    )
    object.__setattr__(owner, name, share)


def coerce_above(owner: object, name: str, bound: int, *, included: bool = False) -> None:
    """Store a field as a fraction above a bound, or of at least the bound."""
    value = getattr(owner, name)
    number = to_fraction(value)
    holds = number is not None and (number > bound or (included and number == bound))
    wanted = f"a number of at least {bound}" if included else f"a number above {bound}"
    require_parameter(holds, owner, name, value, wanted)
    object.__setattr__(owner, name, number)


def parse_fraction(name: str, text: str) -> Fraction:
    """Parse a number exactly: 0.2, 20% or 1/5.

    >>> parse_fraction("t", "0.2"), parse_fraction("`suppress=`", "2%")
    (Fraction(1, 5), Fraction(1, 50))
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(?:(%)|/(\d+))?", text.strip())
    if match is None or len(text) > LONGEST or (match[3] and int(match[3]) == 0):
        raise InvalidParameterError(f"{name} must be a number such as 0.2, 20% or 1/5; got {text[:LONGEST]}.")
    return Fraction(match[1]) / (100 if match[2] else int(match[3] or 1))


def parse_share(name: str, text: str) -> Fraction:
    """Parse a number from 0 to 1."""
    share = parse_fraction(name, text)
    if share > 1:
        raise InvalidParameterError(f"{name} must be a number from 0 to 1; got {text}.")
    return share


def parse_at_least_one(name: str, text: str) -> Fraction:
    """Parse a number of at least 1."""
    number = parse_fraction(name, text)
    if number < 1:
        raise InvalidParameterError(f"{name} must be at least 1; got {text}.")
    return number


def parse_whole_number(name: str, text: str, *, least: int) -> int:
    """Parse a whole number of at least `least`."""
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < least:
        raise InvalidParameterError(f"{name} must be a whole number of at least {least}; got {text}.")
    return int(text)


def format_fraction(value: Fraction) -> str:
    """Return a fraction as text: its decimal if that is exact, otherwise four digits.

    >>> format_fraction(Fraction(1, 5)), format_fraction(Fraction(3)), format_fraction(Fraction(20, 3))
    ('0.2', '3', '6.667')
    """
    decimal = f"{float(value):.12g}"
    exactly = "e" not in decimal and Fraction(decimal) == value
    return decimal if exactly else format_number(float(value), 4)
