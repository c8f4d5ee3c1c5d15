"""Operators of the collect commands: their YAML files, and the best ones for a promise.

Every scalar of a file stays text as typed, and every error names file, line and entry; analyses and surveys
are read by the same `YamlFile`. An operator has the notation of `local.operator_json`, with numbers as people
type them:

    operator: kary-response
    values: 3
    truth: 60%

With a promise, an operator that does not keep it is refused. An operator may be given by its
parameters, by an epsilon, or by the promise alone: {operator: kary-response, values: 3, promise: 1%:5%}. A
matrix is {operator: matrix-operator, rows: [[0.6, 0.4], [0.4, 0.6]]}.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from discreet.belief import Promise
from discreet.belief.promise import parse_promise
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import parse_probability
from discreet.core.output_files import write_output
from discreet.local.design import (
    Design,
    design_baskets,
    design_frequencies,
    design_mean,
    require_promise_kept,
)
from discreet.local.operator import Operator
from discreet.local.operator_json import operator_from_json, operator_to_json
from discreet.services.collect.collect_requests import DesignRequest
from discreet.services.policy_errors import find_nearest_name
from discreet.services.yaml_reader import KeyPath, Scalar, YamlDocument, YamlTree, read_yaml

Plain = str | list["Plain"] | dict[str, "Plain"]


class YamlFile:
    """The entries of a file, with checks that raise errors naming the line."""

    def __init__(self, path: Path, file_type: str) -> None:
        self._document: YamlDocument = read_yaml(path, file_type)
        for place, problem in self._document.problems:
            self.refuse(place, problem)
        if not isinstance(self._document.tree, dict):
            self.refuse((), "it must be entries of the form NAME: VALUE")
        self.entries = _tree_to_entries(self._document.tree)

    def refuse(self, place: KeyPath, text: str) -> NoReturn:
        """Raise an error that names file, line and entry."""
        raise RequestError(self._document.format_problem(place, text))

    def require_known_names(self, place: KeyPath, given: Iterable[str], known: tuple[str, ...]) -> None:
        """Raise if an entry's name is unknown."""
        for name in given:
            if name not in known:
                meant = find_nearest_name(name, known)
                way_out = f"did you mean {meant}?" if meant else f"known are {', '.join(known)}"
                self.refuse((*place, name), f"unknown name: {way_out}")

    def require_mapping(self, place: KeyPath, value: Plain) -> dict[str, Plain]:
        if not isinstance(value, dict):
            self.refuse(place, "must be entries of the form NAME: VALUE")
        return value

    def require_text(self, place: KeyPath, value: Plain) -> str:
        if not isinstance(value, str) or not value.strip():
            self.refuse(place, "must be a text")
        return value.strip()

    def require_texts(self, place: KeyPath, value: Plain) -> list[str]:
        """Return a list of texts; a single text is a list of one."""
        items = value if isinstance(value, list) else [value]
        return [self.require_text((*place, index), item) for index, item in enumerate(items)]

    def parse_share(self, place: KeyPath, value: Plain) -> float:
        try:
            return parse_probability("it", self.require_text(place, value))
        except InvalidParameterError as error:
            self.refuse(place, error.message.removeprefix("it "))

    def parse_promise(self, place: KeyPath, value: Plain) -> Promise:
        """Return the promise of `1%:5%` or {prior: 1%, posterior: 5%}."""
        if isinstance(value, dict):
            self.require_known_names(place, value, ("prior", "posterior"))
            prior, posterior = (
                self.require_text((*place, end), value.get(end, "")) for end in ("prior", "posterior")
            )
            value = f"{prior}:{posterior}"
        try:
            return parse_promise("promise", self.require_text(place, value))
        except InvalidParameterError as error:
            self.refuse(place, error.message.removeprefix("promise "))


def _tree_to_entries(tree: dict[str, YamlTree]) -> dict[str, Plain]:
    return {name: _tree_to_plain(entry) for name, entry in tree.items()}


def _tree_to_plain(tree: YamlTree) -> Plain:
    if isinstance(tree, Scalar):
        return tree.text
    return _tree_to_entries(tree) if isinstance(tree, dict) else [_tree_to_plain(each) for each in tree]


OPERATOR_KEY = "operator"


def load_operator(path: Path) -> tuple[Operator, Promise | None]:
    """Return the operator of a file, and the promise that it has to keep, if any."""
    file = YamlFile(path, "file of operators")
    entries = dict(file.entries)
    promise = file.parse_promise(("promise",), entries.pop("promise")) if "promise" in entries else None
    return parse_operator(file, (), entries, promise), promise


def parse_operator(
    file: YamlFile, place: KeyPath, entries: dict[str, Plain], promise: Promise | None = None
) -> Operator:
    """Return the operator that some entries of a file describe."""
    if OPERATOR_KEY not in entries:
        file.refuse(place, "there is no operator: write operator: kary-response, or another kind")
    given: dict[str, Any] = {name: _parse_number(value) for name, value in entries.items()}
    if promise is not None and set(given) == {OPERATOR_KEY, "values"}:
        given["epsilon"] = promise.epsilon_for(Relation.VALUE)
    kind = file.require_text((*place, OPERATOR_KEY), entries[OPERATOR_KEY])
    try:
        operator = operator_from_json(given | {OPERATOR_KEY: kind})
        if promise is not None:
            require_promise_kept(operator, promise)
    except RequestError as error:
        file.refuse(place, f"{error.message} {error.hint}".strip())
    return operator


def save_operator(operator: Operator, promise: Promise, path: Path) -> None:
    """Write an operator as a file that `load_operator` reads."""
    lines = [f"{name}: {value}" for name, value in operator_to_json(operator).items()]
    text = "\n".join([*lines, f"promise: {promise.prior!r}:{promise.posterior!r}"]) + "\n"
    write_output(path, text)


def _parse_number(value: Plain) -> Any:
    """Return an integer or exact fraction for numbers such as 0.2, 1/5 or 20%; other texts unchanged."""
    if isinstance(value, list):
        return [_parse_number(each) for each in value]
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        exact = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        return value
    return int(exact) if exact.denominator == 1 else exact


@dataclass(frozen=True, kw_only=True)
class DesignResult:
    """Operators, best first, and the quantity that their error refers to."""

    designs: Sequence[Design[Operator]]
    quantity: str
    error_meaning: str
    is_percentage: bool = True


def design_operators(request: DesignRequest) -> DesignResult:
    """Return the operators for shares, a mean or baskets, whichever is given."""
    promise, clients, items, size = request.promise, request.clients, request.items, request.size
    baskets = items is not None or size is not None
    if (request.domain is not None) + (request.mean is not None) + baskets != 1:
        raise RequestError(
            "A design needs exactly one of a domain, a mean and baskets.",
            hint="Give `domain=` for shares, `mean=0..100` for a mean, or `items=` and `size=` for baskets.",
        )
    if request.domain is not None:
        return DesignResult(
            designs=design_frequencies(promise, request.domain, clients),
            quantity="a share",
            error_meaning="the standard deviation of one value's estimated share",
        )
    if request.mean is not None:
        low, high = request.mean
        return DesignResult(
            designs=design_mean(promise, clients, low=low, high=high),
            quantity="the mean",
            error_meaning="the largest standard deviation that the estimated mean can have",
            is_percentage=False,
        )
    if items is None or size is None:
        raise RequestError("Baskets need both `items=` and `size=`.")
    return DesignResult(
        designs=design_baskets(promise, items, size, clients),
        quantity="a support",
        error_meaning="the standard deviation of a rare pair's estimated support",
    )
