"""Estimators: scikit-learn's checks that apply, and what they refuse to learn without charge."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator

from discreet.belief import Promise
from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import InvalidParameterError
from discreet.core.neighbor_relations import Relation
from discreet.mining import (
    ESTIMATORS,
    PrivateForestClassifier,
    PrivateNaiveBayes,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from discreet.mining.attributes import Attribute
from discreet.mining.schema import Schema

NOT_OURS = {
    "check_classifier_data_not_an_array": "two fits differ, as noise is drawn anew",
    "check_classifiers_classes": "classes are declared, not taken from the data",
    "check_classifiers_regression_target": "an error that depends on targets would tell of them",
    "check_classifiers_train": "classes are declared, and the checks' few rows are less than the noise",
    "check_estimators_empty_data_messages": "how many rows there are is not told, so none at all is no error",
    "check_fit_idempotent": "two fits differ, as noise is drawn anew",
    "check_regressor_data_not_an_array": "two fits differ, as noise is drawn anew",
    "check_regressors_int": "two fits differ, as noise is drawn anew",
    "check_supervised_y_2d": "a column of targets is taken as it is, without a warning",
    "check_supervised_y_no_nan": "an error that depends on targets would tell of them",
}
CLASSES: dict[str, Any] = {"bounds": (-5, 5), "classes": (0, 1, 2)}
MADE = {
    PrivateTreeClassifier: CLASSES,
    PrivateForestClassifier: CLASSES,
    PrivateNaiveBayes: CLASSES,
    PrivateTreeRegressor: {"bounds": (-5, 5), "target": (-100, 100)},
}
every = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def rows(number: int, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    table = generator.uniform(-4, 4, (number, 3))
    return table, (table[:, 0] > 0).astype(int) + (table[:, 1] > 2)


@every
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_apply_pass(kind: Any) -> None:
    """With an epsilon at which noise is next to nothing, since the checks look at a few dozen rows."""
    found = check_estimator(kind(epsilon=1_000, **MADE[kind]), on_fail=None, on_skip=None)
    failed = {each["check_name"] for each in found if each["status"] == "failed"}
    assert failed <= set(NOT_OURS)
    assert sum(each["status"] == "passed" for each in found) >= 38


@every
def test_an_estimator_learns_and_says_what_it_promised(kind: Any) -> None:
    (table, classes), (others, truth) = rows(4_000), rows(2_000, seed=1)
    made = kind(epsilon=4, **MADE[kind])
    if is_regressor(made):
        made.set_params(target=(0, 3))
    assert made.fit(table, classes) is made
    assert made.guarantee_.relation is Relation.PRESENCE
    assert made.guarantee_.cap == 4
    assert made.score(others, truth) > (0.75 if is_classifier(made) else 0.4)
    assert is_classifier(made) != is_regressor(made)


@every
def test_an_estimator_is_cloned_pickled_and_put_into_a_pipeline(kind: Any) -> None:
    table, classes = rows(1_500)
    made = kind(epsilon=4, **MADE[kind])
    assert clone(made).get_params() == made.get_params()
    fitted = made.fit(table, classes)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(table) == fitted.predict(table)).all()
    assert cross_val_score(made, table, classes, cv=2).shape == (2,)
    assert len(make_pipeline(MinMaxScaler(), clone(made)).fit(table, classes).predict(table)) == 1_500


def test_columns_of_a_data_frame_are_declared_by_name() -> None:
    table, classes = rows(3_000)
    frame = pd.DataFrame({"a": table[:, 0], "b": np.where(table[:, 1] > 2, "high", "low"), "c": table[:, 2]})
    made = PrivateTreeClassifier(
        epsilon=5, bounds=[(-5, 5), None, (-5, 5)], categories={"b": ["low", "high"]}, classes=[0, 1, 2]
    ).fit(frame, classes)
    assert made.feature_names_in_.tolist() == ["a", "b", "c"]
    assert made.score(frame, classes) > 0.85
    with pytest.raises(InvalidParameterError, match="feature names should match"):
        made.predict(frame[["c", "b", "a"]])


def test_undeclared_values_teach_what_the_nearest_declared_ones_do() -> None:
    """Neither a bound, a class nor a category is taken from the data."""
    table, classes = rows(2_000)
    table[0], classes[0] = 1e9, 77
    made = PrivateTreeClassifier(epsilon=5, bounds=(-5, 5), classes=[0, 1, 2]).fit(table, classes)
    assert made.classes_.tolist() == [0, 1, 2]
    assert set(made.predict(table)) <= {0, 1, 2}
    assert made.model_.schema.attributes[0].bounds == (Fraction(-5), Fraction(5))


@pytest.mark.parametrize(
    "classes", [(False, True), (1.0, 2.0), (1, 2.0), (np.float64(3), np.float64(4.5)), ("no", "yes")]
)
def test_classes_and_categories_are_matched_whatever_type_they_are_declared_as(
    classes: tuple[Any, Any],
) -> None:
    table, _ = rows(2_000)
    truth = np.array(classes)[(table[:, 0] > 0).astype(int)]
    tree = PrivateTreeClassifier(epsilon=8, bounds=(-5, 5), classes=classes).fit(table, truth)
    assert tree.score(table, truth) > 0.9
    named = pd.DataFrame({"named": truth})
    made = PrivateNaiveBayes(epsilon=8, categories={"named": classes}, classes=classes).fit(named, truth)
    assert made.score(named, truth) > 0.9


@every
@pytest.mark.filterwarnings("error")
def test_an_epsilon_that_leaves_next_to_no_noise_predicts_numbers(kind: Any) -> None:
    table, classes = rows(300)
    made = kind(epsilon=1e6, **MADE[kind]).fit(table, classes)
    found = made.predict(table) if is_regressor(made) else made.predict_proba(table)
    assert np.isfinite(found).all()


def test_a_value_that_is_no_date_is_not_repeated_in_the_error() -> None:
    since = Attribute.from_column(
        "since", Column(type=ColumnType.DATE, low=date(2000, 1, 1), high=date(2009, 12, 31))
    )
    schema = Schema(attributes=(since,), target=Attribute.category("class", ["a", "b"]))
    frame = pd.DataFrame({"since": ["2001-01-01", "Alice was here"]})
    with pytest.raises(InvalidParameterError, match="since is declared as a date") as told:
        PrivateTreeClassifier(epsilon=1, schema=schema).fit(frame, ["a", "b"])
    assert "Alice" not in str(told.value)
    assert told.value.__cause__ is None


def test_a_promise_about_values_trains_at_half_of_its_epsilon() -> None:
    table, classes = rows(200)
    promise = Promise(0.01, 0.05)
    made = PrivateTreeClassifier(promise=promise, bounds=(-5, 5), classes=[0, 1, 2]).fit(table, classes)
    assert made.guarantee_.cap == pytest.approx(promise.epsilon / 2)
    assert promise.admits(made.guarantee_)


@pytest.mark.parametrize(
    ("made", "promise"),
    [
        (PrivateTreeClassifier(epsilon=100), Promise(0.01, 0.05)),
        (PrivateNaiveBayes(epsilon=1.66), Promise(0.01, 0.05)),
        (PrivateForestClassifier(epsilon=1, delta=1e-5), Promise(0.01, 0.05)),
        (PrivateForestClassifier(delta=1e-5), Promise(0.01, 0.05)),
        (PrivateForestClassifier(epsilon=1.6, delta=0.5), Promise(0.01, 0.05, tail=1e-6)),
        (PrivateTreeRegressor(epsilon=2), Promise(0.01, 0.05, secret=Relation.PRESENCE)),
    ],
)
def test_more_than_the_promise_allows_is_refused_before_rows_are_looked_at(
    made: Any, promise: Promise
) -> None:
    class Unseen:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("rows were looked at")

    made.set_params(promise=promise, **MADE[type(made)])
    with pytest.raises(InvalidParameterError, match="more than the promise allows"):
        made.fit(Unseen(), Unseen())


@every
def test_a_part_of_the_promise_is_spent_and_kept(kind: Any) -> None:
    promise = Promise(0.01, 0.05, tail=1e-6)
    made = kind(epsilon=0.5, promise=promise, **MADE[kind]).fit(*rows(100))
    assert promise.admits(made.guarantee_)
    if kind is PrivateForestClassifier:
        made.set_params(delta=1e-7).fit(*rows(100))
        assert promise.admits(made.guarantee_)


def test_a_regressor_predicts_numbers_between_the_declared_bounds() -> None:
    table, _ = rows(4_000)
    made = PrivateTreeRegressor(epsilon=4, bounds=(-5, 5), target=(-10, 10)).fit(table, table[:, 0] * 2)
    assert made.score(table, table[:, 0] * 2) > 0.6
    assert np.abs(made.predict(table * 100)).max() <= 10


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (PrivateTreeClassifier(bounds=(0, 1), classes=[0, 1]), "`epsilon=` or `promise=` must be given"),
        (PrivateTreeClassifier(epsilon=1, classes=[0, 1]), "needs the bounds of column x0"),
        (
            PrivateTreeClassifier(epsilon=1, bounds=(0, 1)),
            "needs `classes=`: they are not taken from the data",
        ),
        (
            PrivateTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0]),
            "classes must be two or more different classes",
        ),
        (
            PrivateTreeClassifier(epsilon=1, bounds=[(0, 1)] * 2, classes=[0, 1]),
            "one pair, or one for each of 3",
        ),
        (
            PrivateTreeClassifier(epsilon=1, bounds=(1, 0), classes=[0, 1]),
            "two numbers for x0, the lower one first",
        ),
        (PrivateTreeClassifier(epsilon=-1, bounds=(0, 1), classes=[0, 1]), "a finite number above 0"),
        (
            PrivateForestClassifier(epsilon=1, delta=2, bounds=(0, 1), classes=[0, 1]),
            "at least 0 and below 1",
        ),
        (PrivateTreeRegressor(epsilon=1, bounds=(0, 1)), "needs the bounds of the target"),
    ],
)
def test_what_is_not_declared_is_refused_and_not_taken_from_the_data(made: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        made.fit(*rows(50))


def test_parameters_that_are_not_there_are_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"has no parameter max_depth. It has epsilon, promise"):
        PrivateTreeClassifier().set_params(max_depth=3)
    assert repr(PrivateNaiveBayes(epsilon=1)) == "PrivateNaiveBayes(epsilon=1)"


def test_mining_is_imported_and_learns_without_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from discreet.mining import PrivateTreeClassifier\n"
        "tree = PrivateTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1])\n"
        "print(tree.fit([[0.1], [0.9]] * 50, [0, 1] * 50).predict([[0.1]]).shape)\n"
        "try: tree.__sklearn_tags__()\n"
        "except Exception as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[0] == "(1,)"
    assert "pip install 'discreet[mining]'" in told
