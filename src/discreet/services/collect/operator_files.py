"""Operators as files: the notation of `local.notation` in YAML, with numbers as people type them.

    operator: kary-response
    values: 3
    truth: 60%

With a `promise`, an operator that does not keep it is refused. An operator may be given by its parameters, by
an epsilon, or by the promise alone: {operator: kary-response, values: 3, promise: 1%:5%}. A matrix is
{operator: matrix-operator, rows: [[0.6, 0.4], [0.4, 0.6]]}.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.output_files import write_output
from discreet.local.design import require_promise_kept
from discreet.local.operator import Operator
from discreet.local.operator_json import operator_from_json, operator_to_json
from discreet.services.collect.yaml_entries import Plain, YamlFile
from discreet.services.yaml_reader import KeyPath

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
