"""Estimators with scikit-learn's conventions: `fit`, `predict`, `get_params`; a person is a row.

Nothing is learned from the data without charge. So bounds, categories and classes are declared: values beyond
them are taken as the nearest bound or as missing, and rows of other classes teach nothing. The epsilon is for
added and removed people; a promise about values is trained for at half of its epsilon. There is no seed.

bounds      (low, high) for all columns, or one pair for each; None for a column of `categories`
categories  the values of columns that are no numbers, by place or name
classes     the values of the target (a classifier)
target      (low, high) of the target (a regressor)
rows        the number of rows, if it is public; else a part of epsilon is spent on estimating it
schema      instead of bounds, categories and classes: the attributes and the target themselves

scikit-learn itself is needed only where its own tools ask an estimator for its tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.belief import Promise
from discreet.core.argument_types import require_floats
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import Real
from discreet.mechanisms.sampling import Floats
from discreet.mining.attributes import Attribute
from discreet.mining.estimator_base import Bounds, Categories, Estimator, make_target, read_targets
from discreet.mining.schema import Schema


class _Classifier(Estimator):
    """The base class of classifiers."""

    classes: Sequence[object] | None
    schema: Schema | None

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  (scikit-learn's name)
        """Learn from rows and their classes."""
        columns = self._read_columns(X, is_fitting=True)
        targets = read_targets(columns, y)
        if self.schema is None and self.classes is None:
            raise InvalidParameterError(
                f"{type(self).__name__} needs `classes=`: they are not taken from the data.",
                hint="Give them, or `schema=` with a target.",
            )
        classes = self.classes if self.schema is None and self.classes is not None else ("no", "yes")
        several = len(set(map(str, classes))) == len(classes) >= 2
        require_parameter(several, self, "classes", classes, "two or more different classes")
        goal = self.schema.target if self.schema is not None else Attribute.category("class", classes)
        if goal is None or goal.regular_bins < 2:
            raise InvalidParameterError(
                f"{type(self).__name__}.schema must have a target of two classes or more."
            )
        self.classes_ = np.array(self.classes if self.classes is not None else goal.values)
        self._fit_model(columns, targets, goal)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class, in the order of `classes_`."""
        return self._predict_values(X)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the likeliest class of each row."""
        likeliest = self._predict_values(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """Return the accuracy. Do not publish it for private rows: it is computed without noise."""
        predicted = self.predict(X)
        return float(np.mean(predicted == read_targets([predicted], y)))


class PrivateTreeClassifier(_Classifier):
    """One decision tree, epsilon-DP.

    >>> from discreet.mining import PrivateTreeClassifier
    >>> rows, labels = [[0.2], [0.9]] * 500, ["low", "high"] * 500
    >>> tree = PrivateTreeClassifier(epsilon=1, bounds=(0, 1), classes=["low", "high"]).fit(rows, labels)
    >>> tree.predict([[0.1], [0.95]]).tolist()
    ['low', 'high']
    """

    _kind = "tree"

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        promise: Promise | None = None,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        classes: Sequence[object] | None = None,
        schema: Schema | None = None,
        rows: int | None = None,
        depth: int | None = None,
        criterion: str = "gini",
        selection: str = "permute-and-flip",
        bins: int | None = None,
    ) -> None:
        self.epsilon, self.promise = epsilon, promise
        self.bounds, self.categories, self.classes, self.schema = bounds, categories, classes, schema
        self.rows, self.depth, self.criterion, self.selection = rows, depth, criterion, selection
        self.bins = bins


class PrivateForestClassifier(_Classifier):
    """Boosted trees over one attribute each: epsilon-DP, or concentrated where `delta` is above 0."""

    _kind = "forest"

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real = 0,
        promise: Promise | None = None,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        classes: Sequence[object] | None = None,
        schema: Schema | None = None,
        rows: int | None = None,
        bins: int | None = None,
    ) -> None:
        self.epsilon, self.delta, self.promise = epsilon, delta, promise
        self.bounds, self.categories, self.classes, self.schema = bounds, categories, classes, schema
        self.rows, self.bins = rows, bins


class PrivateNaiveBayes(_Classifier):
    """Naive Bayes over bins, epsilon-DP."""

    _kind = "bayes"

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        promise: Promise | None = None,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        classes: Sequence[object] | None = None,
        schema: Schema | None = None,
        bins: int | None = None,
    ) -> None:
        self.epsilon, self.promise = epsilon, promise
        self.bounds, self.categories, self.classes, self.schema = bounds, categories, classes, schema
        self.bins = bins


class PrivateTreeRegressor(Estimator):
    """One regression tree, epsilon-DP; `target` are the bounds of what it predicts."""

    _kind = "regression"
    _estimator_type = "regressor"

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        promise: Promise | None = None,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        target: tuple[Real, Real] | None = None,
        schema: Schema | None = None,
        rows: int | None = None,
        depth: int | None = None,
        selection: str = "permute-and-flip",
        bins: int | None = None,
    ) -> None:
        self.epsilon, self.promise = epsilon, promise
        self.bounds, self.categories, self.target, self.schema = bounds, categories, target, schema
        self.rows, self.depth, self.selection, self.bins = rows, depth, selection, bins

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from rows and their numbers."""
        columns = self._read_columns(X, is_fitting=True)
        targets = read_targets(columns, y)
        if self.schema is None and self.target is None:
            raise InvalidParameterError(
                "PrivateTreeRegressor needs the bounds of the target: they are not taken from the data.",
                hint="Give `target=(low, high)`, or `schema=` with a target.",
            )
        goal = self.schema.target if self.schema is not None else make_target(self.target)
        if goal is None or not goal.is_ordered:
            raise InvalidParameterError("PrivateTreeRegressor needs a target that is a number.")
        self._fit_model(columns, targets, goal)
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the expected number of each row."""
        return np.asarray(self._predict_values(X)[:, 0])

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """Return the share of explained variance. Do not publish it for private rows: it has no noise."""
        predicted = self.predict(X)
        truth = require_floats("y", read_targets([predicted], y))
        left, all_of_it = ((truth - predicted) ** 2).sum(), ((truth - truth.mean()) ** 2).sum()
        return float(1 - left / all_of_it) if all_of_it else 0.0


ESTIMATORS = (PrivateTreeClassifier, PrivateForestClassifier, PrivateNaiveBayes, PrivateTreeRegressor)
