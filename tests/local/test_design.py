"""Design, notation, and the way of reports through an engine."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.belief import Promise
from discreet.core.errors import DataError, InvalidParameterError, RequestError
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.local import (
    BitFormat,
    BoundedLaplace,
    CodeFormat,
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    MatrixOperator,
    ModularNoise,
    PiecewiseMean,
    SubsetSelection,
    TwoPointMean,
    UnaryEncoding,
)
from discreet.local.design import design_baskets, design_frequencies, design_mean, require_promise_kept
from discreet.local.operator import Operator
from discreet.local.operator_json import operator_from_json, operator_to_json
from discreet.local.report_formats import count_stored_reports
from tests.conformance.test_operators import EXAMPLES

PROMISE = Promise(0.01, 0.05)


# -- The operator with the least error ---------------------------------------------------------------------


def test_few_values_are_best_randomized_as_they_are_and_many_by_subsets() -> None:
    assert isinstance(design_frequencies(PROMISE, 3, clients=1000)[0].operator, KaryResponse)
    assert isinstance(design_frequencies(PROMISE, 1000, clients=1000)[0].operator, SubsetSelection)


@pytest.mark.parametrize("values", [2, 10, 500])
def test_designs_come_in_the_order_of_their_errors_and_these_are_standard_deviations(values: int) -> None:
    found = design_frequencies(PROMISE, values, clients=2500)
    errors = [each.error for each in found]
    assert errors == sorted(errors) or errors == pytest.approx(sorted(errors), rel=1e-8)
    for each in found:
        assert each.error == pytest.approx(math.sqrt(each.operator.variance(1 / values, 2500)))


def test_errors_fall_with_the_root_of_the_number_of_clients() -> None:
    few, many = (design_frequencies(PROMISE, 50, clients)[0].error for clients in (1000, 100_000))
    assert few == pytest.approx(10 * many)


def test_a_report_takes_as_many_bits_as_its_codes_need() -> None:
    found = design_frequencies(PROMISE, 1000, clients=1000)
    bits = {type(each.operator): each.bits for each in found}
    assert bits[UnaryEncoding] == bits[SubsetSelection] == 1000
    assert bits[KaryResponse] == bits[HadamardResponse] == 10
    hashing = next(each.operator for each in found if isinstance(each.operator, LocalHashing))
    assert bits[LocalHashing] == math.ceil(math.log2(hashing.seeds * hashing.buckets))


def test_means_are_best_by_two_points_under_strict_promises_and_piecewise_under_others() -> None:
    assert isinstance(design_mean(Promise(0.01, 0.02), 1000)[0].operator, TwoPointMean)
    assert isinstance(design_mean(Promise(0.01, 0.3), 1000)[0].operator, PiecewiseMean)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_the_piecewise_mean_is_no_worse_than_the_published_continuous_one(epsilon: float) -> None:
    """Its variance at the ends of [-1, 1] is 1 / (h - 1) + (h + 3) / (3 (h - 1)**2), h = exp(epsilon / 2)."""
    h = math.exp(epsilon / 2)
    published = 1 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    assert PiecewiseMean.for_epsilon(epsilon).variance(0, 1) <= published * (1 + 1e-6)


def test_a_promise_about_presence_cannot_be_kept_as_taking_part_is_seen() -> None:
    with pytest.raises(RequestError, match="presence"):
        design_frequencies(Promise(0.01, 0.05, secret="presence"), 10, clients=1000)


def test_an_operator_that_is_weaker_than_the_promise_is_refused_in_one_sentence() -> None:
    require_promise_kept(KaryResponse.for_epsilon(PROMISE.epsilon, 10), PROMISE)
    with pytest.raises(RequestError, match=r"a belief of 1% become 6\.95%; promised is 5%\. Its epsilon"):
        require_promise_kept(KaryResponse.for_epsilon(2, 10), PROMISE)
    with pytest.raises(RequestError, match="rule a value out"):
        require_promise_kept(ModularNoise(values=11, reach=1, share=Fraction(1)), PROMISE)


@pytest.mark.parametrize("epsilon", [0.01, 1, 10, 20, 25, 29, 30])
@pytest.mark.parametrize("values", [2, 3, 10, 100])
def test_the_law_of_bounded_laplace_noise_that_is_drawn_stays_within_epsilon(
    epsilon: float, values: int
) -> None:
    """At a large epsilon some reports are so rare that drawing them in parts of 2**64 rounds them much."""
    operator = BoundedLaplace.for_epsilon(epsilon, values)
    assert math.exp(epsilon) * 0.999 < operator.gamma <= math.exp(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("prior", "posterior"), [(0.5, 0.50001), (0.01, 0.0101), (0.01, 0.05), (0.01, 0.9999999), (1e-6, 0.9)]
)
def test_what_is_designed_for_a_promise_keeps_it_however_strict_or_lax_it_is(
    prior: float, posterior: float
) -> None:
    promise = Promise(prior, posterior)
    shares = design_frequencies(promise, 7, clients=10)
    means = design_mean(promise, clients=10, values=11)
    for each in (*shares, *means, *design_baskets(promise, items=9, size=3, clients=10)):
        require_promise_kept(each.operator, promise)


def test_a_family_has_its_epsilon_divided() -> None:
    found = design_frequencies(Promise(0.01, 0.05, group=10), 10, clients=1000)[0]
    assert found.operator.epsilon == pytest.approx(PROMISE.epsilon / 10)


# -- Bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "a sum of 0.9 in row 0"),
        ([[0.5, 0.5], [1.5, -0.5]], "a negative number"),
        ([[1.0, 0.0]], "at least two"),
        ([["a", "b"], ["c", "d"]], "a matrix of numbers"),
        ([[0.5, 0.5], [1.0]], "a matrix of numbers"),
        ([0.5, 0.5], "a matrix of numbers"),
        ([[math.nan, 1.0], [0.5, 0.5]], "probabilities"),
    ],
)
def test_matrices_that_are_none_get_one_clear_sentence(rows: Any, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^MatrixOperator\.rows must be .*{said}|{said}.*; got"):
        MatrixOperator(rows=rows)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e-9, 31, "1", None, True])
@pytest.mark.parametrize(
    "kind", [KaryResponse, HadamardResponse, LocalHashing, UnaryEncoding, SubsetSelection]
)
def test_an_epsilon_that_cannot_be_drawn_is_refused_by_name(kind: Any, epsilon: Any) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{kind.__name__}\.epsilon must be a number from"):
        kind.for_epsilon(epsilon, 10)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: KaryResponse(values=1, truth=Fraction("0.5")), "values"),
        (lambda: KaryResponse(values=4, truth=Fraction("0.25")), "truth"),
        (lambda: KaryResponse(values=4, truth=Fraction("1.5")), "truth"),
        (lambda: KaryResponse(values=2**21, truth=Fraction("0.5")), "values"),
        (lambda: HadamardResponse(values=4, truth=Fraction("0.5")), "truth"),
        (lambda: UnaryEncoding(values=4, noise=Fraction("0.5")), "noise"),
        (lambda: LocalHashing(values=4, buckets=6, truth=Fraction("0.5")), "buckets"),
        (lambda: LocalHashing(values=4, buckets=4, truth=Fraction("0.25")), "truth"),
        (lambda: SubsetSelection(values=4, size=4, truth=Fraction("0.5")), "size"),
        (lambda: ModularNoise(values=9, reach=4, share=Fraction("0.5")), "reach"),
        (lambda: ModularNoise(values=9, reach=1, share=Fraction(0)), "share"),
        (lambda: PiecewiseMean(values=9, window=10, share=Fraction("0.5")), "window"),
        (lambda: TwoPointMean(truth=Fraction("0.75"), low=1, high=0), "high"),
        (lambda: TwoPointMean(truth=Fraction("0.75"), low=-1e308, high=1e308), "high"),
    ],
)
def test_parameters_outside_of_their_range_are_refused_by_name(make: Any, named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^\w+\.{named} must be .*; got .*\.$"):
        make()


def test_numbers_beyond_the_range_are_moved_to_its_ends_and_missing_ones_refused() -> None:
    operator = TwoPointMean(values=5, truth=Fraction("0.75"), low=0, high=100)
    assert operator.encode([-5, 0, 24, 26, 100, 1e9]).tolist() == [0, 0, 1, 1, 4, 4]
    with pytest.raises(InvalidParameterError, match="missing"):
        operator.encode([1.0, math.nan])


# -- Operators as plain data -------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", [each[0] for each in EXAMPLES.values()], ids=list(EXAMPLES))
def test_what_is_read_has_the_law_of_what_was_written(operator: Operator) -> None:
    again = operator_from_json(json.loads(json.dumps(operator_to_json(operator))))
    assert type(again) is type(operator)
    assert again.gamma == operator.gamma
    assert np.array_equal(again.matrix(), operator.matrix())


def test_an_operator_may_be_given_by_epsilon_or_by_numbers() -> None:
    assert operator_from_json(
        {"operator": "kary-response", "values": 5, "epsilon": 1}
    ) == KaryResponse.for_epsilon(1, 5)
    given = {"operator": "modular-noise", "values": 1001, "reach": 100, "share": "1/2"}
    assert operator_from_json(given) == ModularNoise(values=1001, reach=100, share=Fraction("0.5"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"operator": "mystery"}, "There is no operator mystery. Choose from bounded-laplace"),
        ({}, "There is no operator None"),
        ({"operator": "kary-response", "value": 5}, "other parameters than value. Give values, truth"),
        ({"operator": "kary-response", "values": 5, "truth": "half"}, "half is not a number"),
        ({"operator": "matrix-operator", "epsilon": 1}, "other parameters than epsilon. Give rows."),
    ],
)
def test_what_is_no_operator_is_refused_with_the_way_out(data: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said.replace(".", r"\.")):
        operator_from_json(data)


# -- Through an engine -------------------------------------------------------------------------------------


def test_many_bits_are_counted_in_several_statements(random: Randomness, tmp_path: Path) -> None:
    operator = UnaryEncoding.for_epsilon(1, 1300)
    reports = operator.randomize(np.arange(50), random)
    pq.write_table(operator.report_format.to_arrow(reports), tmp_path / "reports.parquet")
    assert len(operator.report_format.build_count_queries("reports")) == 3
    with DuckDB({"reports": tmp_path / "reports.parquet"}) as engine:
        counts = count_stored_reports(operator.report_format, engine, "reports")
    assert np.array_equal(counts.cells, operator.report_format.count(reports).cells)


@pytest.mark.parametrize(
    ("form", "table", "said"),
    [
        (CodeFormat(outputs=3), {"report": [0, 1, 3]}, "codes from 0 to 2"),
        (CodeFormat(outputs=3), {"report": [0, None]}, "empty or not integers"),
        (CodeFormat(outputs=3), {"report": ["a"]}, "empty or not integers"),
        (CodeFormat(outputs=3), {"report": pa.array([2**64 - 1], pa.uint64())}, "empty or not integers"),
        (CodeFormat(outputs=3), {"answer": [0]}, "no column report"),
        (BitFormat(width=3), {"w0": [8]}, "3 bits"),
        (BitFormat(width=3, ones=2), {"w0": [1]}, "2 bits that are set"),
        (BitFormat(width=3, cohorts=2), {"cohort": [2], "w0": [1]}, "cohorts from 0 to 1"),
        (BitFormat(width=65), {"w0": [1]}, "no column w1"),
    ],
)
def test_stored_reports_that_no_client_sends_are_refused(form: Any, table: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        form.from_arrow(pa.table(table))


@pytest.mark.parametrize(
    ("form", "table", "said"),
    [
        (CodeFormat(outputs=3), {"report": [0, 1, 3]}, "codes from 0 to 2"),
        (CodeFormat(outputs=3), {"report": pa.array([0, None], pa.int64())}, "empty or not integers"),
        (BitFormat(width=3), {"w0": [8]}, "3 bits"),
        (BitFormat(width=3), {"w0": [-1]}, "3 bits"),
        (BitFormat(width=64), {"w0": pa.array([1, None], pa.int64())}, "64 bits"),
        (BitFormat(width=3, ones=2), {"w0": [1]}, "2 bits that are set"),
        (BitFormat(width=3, cohorts=2), {"cohort": [5], "w0": [1]}, "cohorts from 0 to 1"),
    ],
)
def test_an_engine_refuses_them_too(form: Any, table: Any, said: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(table), tmp_path / "reports.parquet")
    with DuckDB({"reports": tmp_path / "reports.parquet"}) as engine:
        found = [engine.count(sql).secret for sql in form.build_count_queries("reports")]
    with pytest.raises(DataError, match=said):
        form.read_counts(found)
