"""The base of all estimators: scikit-learn's conventions for parameters, tags and feature names.

An estimator has no ledger, so its budget is checked before rows are read. Without scikit-learn installed
everything works except the tags, which only its own tools request.

Rows and targets are taken by the same conventions, and the schema from declarations.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter
from discreet.core.number_checks import Real, is_real
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Floats
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.model_training import (
    KINDS,
    TARGET_BINS,
    Model,
    build_model_plan,
    compute_budget,
    train_from_counter,
)
from discreet.mining.schema import Schema
from discreet.mining.training_budget import require_within_promise

Bounds = tuple[Real, Real] | Sequence[tuple[Real, Real] | None]
Categories = Mapping[int | str, Sequence[object]]


DECLARED_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "promise": ((Promise,), "a Promise"),
    "schema": ((Schema,), "a schema of the columns and the target"),
    "categories": ((Mapping,), "a dict of the values of each column"),
    "classes": ((Sequence, np.ndarray), "a list of classes"),
}


def make_target(target: tuple[Real, Real] | None) -> Attribute:
    """Return the target of a regression between declared bounds."""
    fits = _is_pair(target)
    require_parameter(fits, "PrivateTreeRegressor", "target", target, "(low, high), the lower one first")
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
                hint="Give `bounds=`, or the values under `categories=`.",
            )
    if target.name in called:
        target = Attribute(**{**vars(target), "name": f"{target.name} (target)"})
    return Schema(attributes=tuple(attributes), target=target)


def _expand_bounds(
    owner: str, column_count: int, bounds: Bounds | None, categories: Categories
) -> Sequence[tuple[Real, Real] | None]:
    if bounds is None:
        return [None] * column_count
    require_parameter(
        isinstance(bounds, Sequence | np.ndarray) and not isinstance(bounds, str),
        owner,
        "bounds",
        bounds,
        "(low, high), or a list of one pair for each column",
    )
    if len(bounds) == 2 and not any(isinstance(each, Sequence) or each is None for each in bounds):
        return [(bounds[0], bounds[1])] * column_count  # type: ignore[list-item]
    if len(bounds) != column_count:
        raise InvalidParameterError(
            f"{owner}.bounds must be one pair, or one for each of {column_count} columns; got {len(bounds)}."
        )
    for each in bounds:
        require_parameter(
            each is None or _is_pair(each), owner, "bounds", each, "pairs (low, high), the lower one first"
        )
    return bounds  # type: ignore[return-value]


def _is_pair(bounds: object) -> bool:
    """Return whether these are a number and a larger one."""
    if not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2 or not all(map(is_real, bounds)):
        return False
    return bool(bounds[0] < bounds[1])


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
            f"`X=`: Expected 2D array, got {table.ndim}D array instead.",
            hint="Reshape your data: one row a person, one column an attribute.",
        )
    if not table.shape[1]:
        raise InvalidParameterError(
            f"`X=`: 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
        )
    return [table[:, j] for j in range(table.shape[1])], None


def read_targets(columns: list[Any], y: Any) -> NDArray[Any]:
    """Return one target for each row."""
    if y is None:
        raise InvalidParameterError("`y=`: requires y to be passed, but the target y is None")
    targets = np.asarray(y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1 or len(targets) != len(columns[0]):
        raise InvalidParameterError(
            "`X=` and `y=` must have the same number of rows, and `y=` one column.",
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


class Estimator:
    """The base class of all estimators."""

    _kind = ""
    _estimator_type = "classifier"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as given."""
        del deep
        return {name: getattr(self, name) for name in self._list_parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they take effect at the next fit."""
        for name, value in params.items():
            if name not in self._list_parameters():
                raise InvalidParameterError(
                    f"{type(self).__name__} has no parameter {name}.",
                    hint=f"It has {', '.join(self._list_parameters())}.",
                )
            setattr(self, name, value)
        return self

    @classmethod
    def _list_parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = {k: v for k, v in self.get_params().items() if v is not defaults[k].default}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"

    def __sklearn_tags__(self) -> Any:
        try:
            from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags
        except ImportError:
            raise RequestError(
                "scikit-learn asks for tags, and it is not installed.", hint="pip install 'discreet[mining]'."
            ) from None
        classifies = self._estimator_type == "classifier"
        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(poor_score=True) if classifies else None,
            regressor_tags=None if classifies else RegressorTags(poor_score=True),
            input_tags=InputTags(allow_nan=True, string=True, categorical=True),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _read_columns(self, rows: Any, *, is_fitting: bool) -> list[Any]:
        """Return the columns of a table, array or lists of rows; remember their names for later checks.

        An estimator has no ledger, so its budget is checked before rows are read.
        """
        if is_fitting:
            self._require_declared_kinds()
            given = self.get_params()
            epsilon, delta, promise = given["epsilon"], given.get("delta", 0), given["promise"]
            spent = compute_budget(self._kind, epsilon=epsilon, delta=delta, promise=promise)
            require_within_promise(self, spent, promise)
        columns, names = read_columns(rows)
        if is_fitting:
            self.n_features_in_ = len(columns)
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            return columns
        if not hasattr(self, "model_"):
            raise make_not_fitted_error(type(self).__name__)
        if len(columns) != self.n_features_in_:
            raise InvalidParameterError(
                f"`X=`: X has {len(columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(known) != names:
            raise InvalidParameterError(
                "The feature names should match those that were passed during fit.",
                hint="Give the columns in the same order.",
            )
        return columns

    def _require_declared_kinds(self) -> None:
        """Refuse parameters that are not what they declare; numbers are checked where they are used."""
        given = self.get_params()
        for name, (kinds, expected) in DECLARED_KINDS.items():
            value = given.get(name)
            fits = value is None or (isinstance(value, kinds) and not isinstance(value, str))
            require_parameter(fits, self, name, value, expected)

    def _fit_model(self, columns: list[Any], targets: NDArray[Any], target: Attribute) -> None:
        given = self.get_params()
        schema = given["schema"] or build_schema(
            type(self).__name__,
            len(columns),
            getattr(self, "feature_names_in_", None),
            given["bounds"],
            given["categories"] or {},
            given.get("bins") or KINDS[self._kind],
            target,
        )
        recipe = build_model_plan(
            self._kind,
            schema,
            epsilon=given["epsilon"],
            delta=given.get("delta", 0),
            promise=given["promise"],
            rows=given.get("rows"),
            depth=given.get("depth"),
            criterion_name=given.get("criterion", "gini"),
            selection=given.get("selection", "permute-and-flip"),
        )
        codes = target.encode(targets).astype(np.int64)
        counter = ArrayCounter(schema=schema, codes=schema.encode(columns), targets=codes)
        self.model_: Model = train_from_counter(recipe, counter, Randomness())
        self.guarantee_ = recipe.guarantee

    def _predict_values(self, rows: Any) -> Floats:
        columns = self._read_columns(rows, is_fitting=False)
        return self.model_.predict(self.model_.schema.encode(columns))
