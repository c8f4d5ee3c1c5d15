"""Inputs of estimators: rows and targets by scikit-learn's conventions, and a schema from declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import Real
from discreet.mining.attributes import Attribute
from discreet.mining.model_training import TARGET_BINS
from discreet.mining.schema import Schema

Bounds = tuple[Real, Real] | Sequence[tuple[Real, Real] | None]
Categories = Mapping[int | str, Sequence[object]]


def make_target(target: tuple[Real, Real] | None) -> Attribute:
    """Return the target of a regression between declared bounds."""
    assert target is not None
    return Attribute.numeric("target", *target, bins=TARGET_BINS)


def build_schema(
    owner: str,
    column_count: int,
    names: Sequence[str] | None,
    bounds: Bounds | None,
    categories: Categories,
    bins: int,
    target: Attribute,
) -> Schema:
    """Return the schema of the declared columns."""
    called = [str(each) for each in names] if names is not None else [f"x{j}" for j in range(column_count)]
    pairs = _expand_bounds(owner, column_count, bounds, categories)
    attributes = []
    for j, name in enumerate(called):
        values, pair = categories.get(j, categories.get(name)), pairs[j]
        if values is not None:
            attributes.append(Attribute.category(name, values))
        elif pair is not None:
            attributes.append(Attribute.numeric(name, *pair, bins=bins))
        else:
            raise InvalidParameterError(
                f"{owner} needs the bounds of column {name}: they are not taken from the data.",
                hint="Give bounds, or the values under categories.",
            )
    if target.name in called:
        target = Attribute(**{**vars(target), "name": f"{target.name} (target)"})
    return Schema(attributes=tuple(attributes), target=target)


def _expand_bounds(
    owner: str, column_count: int, bounds: Bounds | None, categories: Categories
) -> Sequence[tuple[Real, Real] | None]:
    if bounds is None:
        return [None] * column_count
    if len(bounds) == 2 and not any(isinstance(each, Sequence) or each is None for each in bounds):
        return [(bounds[0], bounds[1])] * column_count  # type: ignore[list-item]
    if len(bounds) != column_count:
        raise InvalidParameterError(
            f"{owner}.bounds must be one pair, or one for each of {column_count} columns; got {len(bounds)}."
        )
    return bounds  # type: ignore[return-value]


def read_columns(rows: Any) -> tuple[list[Any], list[str] | None]:
    """Return the columns of a data frame with their names, or of an array."""
    if hasattr(rows, "tocsr"):
        raise TypeError("A sparse matrix is not supported: give a dense one.")
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):
        names = [str(each) for each in rows.columns]
        return [np.asarray(rows[each]) for each in rows.columns], names
    table = np.asarray(rows)
    if table.dtype.kind == "c":
        raise InvalidParameterError("Complex data not supported.", hint="Give real numbers.")
    if table.ndim != 2:
        raise InvalidParameterError(
            f"Expected 2D array, got {table.ndim}D array instead.",
            hint="Reshape your data: one row a person, one column an attribute.",
        )
    if not table.shape[1]:
        raise InvalidParameterError(f"0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    return [table[:, j] for j in range(table.shape[1])], None


def read_targets(columns: list[Any], y: Any) -> NDArray[Any]:
    """Return one target for each row."""
    if y is None:
        raise InvalidParameterError("requires y to be passed, but the target y is None")
    targets = np.asarray(y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1 or len(targets) != len(columns[0]):
        raise InvalidParameterError(
            "X and y must have the same number of rows, and y one column.",
            hint="Give one target for each row.",
        )
    return targets


def make_not_fitted_error(name: str) -> Exception:
    """Return scikit-learn's error for an unfitted estimator, or ours if it is not installed."""
    message = f"This {name} instance is not fitted yet. Call 'fit' first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return InvalidParameterError(message)
    return NotFittedError(message)  # type: ignore[no-any-return]
