"""Policies as Python values: a mapping as in a policy file, a `Policy`, or the path of a file.

Columns     have short forms, of which the policy's own model is made:
            (1, 99)              a whole number between bounds
            (0, 2.5, 0.01)       a decimal between bounds, and the step that it is rounded to
            two dates or times   a date or a time between bounds; also as ISO texts
            ["a", "b"]           a category with these values
            [True, False], bool  true or false
            "text", str          a type alone: a name of the policy, or one of Python
            {"type": …}          every entry of a policy file
Promise     a mapping, a `Promise`, or (prior, posterior).
Types       follow from what is declared, never from a frame: its types depend on its values.
Paths       are relative to the working directory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.accounting.ledger_storage import is_database_address
from discreet.belief import Promise
from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.policy import Policy, PromiseTerms
from discreet.core.table_entry import Table
from discreet.services.addresses import require_engine_address
from discreet.services.object_columns import objects_to_text
from discreet.services.policies import find_policy_problems, load_policy, resolve_paths
from discreet.services.policy_errors import format_validation_errors
from discreet.services.policy_scalars import Problems
from discreet.services.session_ledger import find_session_ledger
from discreet.services.yaml_reader import format_key_path

DEFAULT_PROMISE = {"prior": 0.01, "posterior": 0.05}
"""The promise about a frame for which none is given, which is that of a policy draft."""
PYTHON_TYPES: Mapping[type, ColumnType] = {
    bool: ColumnType.BOOLEAN,
    int: ColumnType.INTEGER,
    float: ColumnType.DECIMAL,
    Decimal: ColumnType.DECIMAL,
    str: ColumnType.TEXT,
    date: ColumnType.DATE,
    datetime: ColumnType.TIMESTAMP,
}
MAX_SENTENCES = 3
FORMS = '(low, high), (low, high, step), a list of values, a type such as "boolean", or a dict'

Columns = Mapping[str, object]
"""What declares columns, by name: a short form, a mapping of entries, or the model of a policy for each."""
PromiseForm = Promise | PromiseTerms | Mapping[str, Any] | tuple[float | str, float | str]
PolicyForm = Policy | Mapping[str, Any] | Path | str


def parse_policy(
    policy: object,
    *,
    ledger: str | Path | None = None,
    engine: str | None = None,
    data_version: str | None = None,
    tables: Collection[str] = (),
) -> Policy:
    """Return the policy that a Python caller gives, with absolute paths and the arguments in its entries.

    `tables` are those whose rows are given beside it. A policy that names no ledger has the session's.
    """
    named = None if ledger is None else str(ledger)
    if isinstance(policy, str | Path):
        found = load_policy(Path(policy), engine=engine, ledger=named, tables=tables)
    elif isinstance(policy, Policy | Mapping):
        made = require_filled(policy) if isinstance(policy, Policy) else validate_policy(policy)
        changed = {} if engine is None else {"engine": require_engine_address(engine)}
        if named is not None or "ledger" not in made.model_fields_set:
            changed["ledger"] = named or find_session_ledger()
        found = _resolve_paths(made.model_copy(update=changed))
    else:
        raise InvalidParameterError(
            f"`policy=` must be a dict, a Policy or the path of one; got {type(policy).__name__}."
        )
    return found if data_version is None else found.model_copy(update={"data_version": str(data_version)})


def require_mapping(name: str, value: object) -> dict[str, Any]:
    """Return an argument that is a mapping as a dict, or refuse it."""
    if not isinstance(value, Mapping):
        raise InvalidParameterError(
            f'`{name}=` must be a dict such as {{"people": frame}}; got {type(value).__name__}.'
        )
    return {str(key): each for key, each in value.items()}


def build_frame_policy(
    name: str,
    columns: object,
    *,
    person: str | None = None,
    rows_per_person: int | None = None,
    promise: PromiseForm | None = None,
) -> Policy:
    """Return the policy of one frame, from the arguments of a verb."""
    table: dict[str, Any] = {"columns": columns}
    if person is not None:
        table["person"] = person
    if rows_per_person is not None:
        table["rows_per_person"] = rows_per_person
    values = {"promise": DEFAULT_PROMISE if promise is None else promise, "tables": {name: table}}
    return validate_policy(values, prefix=("tables", name))


def validate_policy(values: Mapping[str, Any], *, prefix: tuple[str, ...] = ()) -> Policy:
    """Return the policy of a mapping, or refuse it in sentences that name its entries.

    `prefix` is left out of their names where a caller has not written it.
    """
    expanded = expand_policy(values)
    try:
        policy = Policy.model_validate(expanded)
    except ValidationError as error:
        sentences = format_policy_errors(error, expanded, prefix=prefix)
    else:
        problems = find_policy_problems(policy)
        if not problems:
            return policy
        sentences = format_problems(problems, prefix)
    raise RequestError(sentences)


def format_policy_errors(
    error: ValidationError, values: Mapping[str, Any], *, prefix: tuple[str, ...] = ()
) -> str:
    """Return the sentences on what is wrong in the values of a policy."""
    return format_problems(format_validation_errors(error, values), prefix)


def format_problems(problems: Problems, prefix: tuple[str, ...] = ()) -> str:
    """Return one sentence on each problem, with the entry that it is about; empty if there is none."""
    lines = []
    for place, text in problems:
        shown = place[len(prefix) :] if place[: len(prefix)] == prefix else place
        lines.append(f"{format_key_path(shown)}: {text}" if shown else text)
    more = [f"{len(lines) - MAX_SENTENCES} more entries are wrong"] if len(lines) > MAX_SENTENCES else []
    sentences = [*lines[:MAX_SENTENCES], *more]
    return " ".join(each if each.endswith((".", "?")) else f"{each}." for each in sentences)


def require_filled(policy: Policy) -> Policy:
    """Return a policy, or refuse a draft with the entries that are not filled in."""
    blanks: tuple[str, ...] = getattr(policy, "blanks", ())
    if blanks:
        raise RequestError(
            f"The policy is a draft; it does not say {', '.join(blanks)}.",
            hint="Give what is public, never what the data shows: by fill(…), or in the file of save(…).",
        )
    return policy


def expand_policy(values: Any) -> Any:
    """Return a mapping of a policy with the short forms of its columns and its promise written out."""
    if not isinstance(values, Mapping):
        return values
    expanded = {str(name): entry for name, entry in values.items()}
    if expanded.get("promise") is not None:
        expanded["promise"] = expand_promise(expanded["promise"])
    if isinstance(expanded.get("tables"), Mapping):
        expanded["tables"] = {str(name): _expand_table(table) for name, table in expanded["tables"].items()}
    return expanded


def expand_promise(promise: Any) -> Any:
    """Return a promise as a mapping of its terms."""
    if isinstance(promise, Promise):
        return {
            "prior": promise.prior,
            "posterior": promise.posterior,
            "secret": promise.secret,
            "group": promise.group,
            "tail": promise.tail,
        }
    if isinstance(promise, Sequence) and not isinstance(promise, str) and len(promise) == 2:
        return {"prior": promise[0], "posterior": promise[1]}
    return dict(promise) if isinstance(promise, Mapping) else promise


def _expand_table(table: Any) -> Any:
    if isinstance(table, Table) or not isinstance(table, Mapping):
        return table
    columns = table.get("columns")
    if not isinstance(columns, Mapping):
        got = "nothing" if columns is None else type(columns).__name__
        raise InvalidParameterError(
            f"`columns=` must be a dict, with (low, high) or a list of values for each column; got {got}."
        )
    if not columns:
        raise InvalidParameterError("`columns=` must declare at least one column.")
    return {**table, "columns": {str(name): expand_column(name, form) for name, form in columns.items()}}


def expand_column(name: object, form: Any) -> Any:
    """Return the entries of a column that a short form means.

    >>> expand_column("hours", (1, 99))
    {'type': <ColumnType.INTEGER: 'integer'>, 'low': 1, 'high': 99}
    >>> expand_column("sex", ["Female", "Male"])
    {'type': <ColumnType.CATEGORY: 'category'>, 'values': ['Female', 'Male']}
    """
    if isinstance(form, Column):
        return form
    if isinstance(form, Mapping):
        return {key: _to_python(value) for key, value in form.items()}
    if isinstance(form, tuple):
        return _expand_bounds(name, tuple(map(_to_python, form)))
    if isinstance(form, list):
        return _expand_values(name, list(map(_to_python, form)))
    if isinstance(form, type) and form in PYTHON_TYPES:
        return {"type": PYTHON_TYPES[form]}
    if isinstance(form, str):
        return {"type": form}
    hint = "Take them from what is public, not from the data: they would reveal its rarest people."
    raise InvalidParameterError(f"`columns=`: {name} must be {FORMS}; got {type(form).__name__}.", hint=hint)


def _expand_bounds(name: object, form: tuple[Any, ...]) -> dict[str, Any]:
    if len(form) not in (2, 3):
        raise InvalidParameterError(
            f"`columns=`: {name} must have two bounds, (low, high), and for a decimal its step; got "
            f"{len(form)} entries.",
            hint="Values that are listed are in square brackets.",
        )
    low, high = form[:2]
    bounds = {"low": low, "high": high}
    if all(isinstance(bound, str) for bound in (low, high)):
        return _parse_times(name, low, high)
    if all(isinstance(bound, datetime) for bound in (low, high)):
        return {"type": ColumnType.TIMESTAMP, **bounds}
    if all(isinstance(bound, date) for bound in (low, high)):
        return {"type": ColumnType.DATE, **bounds}
    if not all(
        isinstance(bound, int | float | Decimal) and not isinstance(bound, bool) for bound in form[:2]
    ):
        raise InvalidParameterError(
            f"`columns=`: {name} must have two numbers or two dates as bounds.",
            hint="Values that are listed are in square brackets.",
        )
    if len(form) == 3:
        return {"type": ColumnType.DECIMAL, **bounds, "resolution": form[2]}
    if not all(isinstance(bound, int) for bound in (low, high)):
        raise InvalidParameterError(
            f"`columns=`: {name} needs the step that its numbers are rounded to, beside its bounds.",
            hint=f"Write ({low}, {high}, 0.01) for hundredths; bounds that are integers declare integers.",
        )
    return {"type": ColumnType.INTEGER, **bounds}


def _parse_times(name: object, low: str, high: str) -> dict[str, Any]:
    """Return the bounds that two ISO texts are: dates, or times if one has a time of day."""
    try:
        days = [date.fromisoformat(text) if len(text) == 10 else None for text in (low, high)]
        if None not in days:
            return {"type": ColumnType.DATE, "low": days[0], "high": days[1]}
        first, last = (datetime.fromisoformat(text) for text in (low, high))
    except ValueError:
        raise InvalidParameterError(
            f"`columns=`: {name} must have two numbers or two dates as bounds; got two texts.",
            hint="Write values that are listed in square brackets, and dates as 2024-01-31.",
        ) from None
    return {"type": ColumnType.TIMESTAMP, "low": first, "high": last}


def _expand_values(name: object, values: list[Any]) -> dict[str, Any]:
    if values and all(isinstance(value, bool) for value in values):
        return {"type": ColumnType.BOOLEAN}
    texts = objects_to_text(values, ColumnType.CATEGORY).to_pylist()
    if None in texts:
        raise InvalidParameterError(
            f"`columns=`: the values of {name} must be texts or numbers.",
            hint='A missing value is not listed: write {"values": […], "nulls": True} to make it a group.',
        )
    return {"type": ColumnType.CATEGORY, "values": texts}


def _to_python(value: Any) -> Any:
    """Return a number or time of numpy, or a member of an enumeration, as a plain value."""
    if isinstance(value, Enum) and not isinstance(value, str):
        return value.value
    is_numpy = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    return value.item() if is_numpy else value


def _resolve_paths(policy: Policy) -> Policy:
    """Return a policy with absolute paths; one that was loaded from a file has them already."""
    resolved, ledger = resolve_paths(policy, Path.cwd()), policy.ledger
    has_sibling = is_database_address(ledger) and "#" in ledger
    return resolved.model_copy(update={"ledger": ledger}) if has_sibling else resolved
