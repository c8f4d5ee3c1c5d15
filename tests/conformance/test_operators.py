"""What every operator owes by being listed in `OPERATORS`.

An operator that joins the tuple adds one line to EXAMPLES: small instances, whose matrix can be written out.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.belief import Promise, amplification, compute_posteriors
from discreet.belief import worst_case_information as information
from discreet.core.errors import DataError, InvalidParameterError
from discreet.core.guarantees import PureDP
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.local import (
    FREQUENCY_ORACLES,
    MEAN_OPERATORS,
    OPERATORS,
    BitFormat,
    BoundedLaplace,
    CodeFormat,
    CutAndPaste,
    FrequencyOracle,
    HadamardResponse,
    KaryResponse,
    LaplaceMean,
    LocalHashing,
    MatrixOperator,
    ModularNoise,
    Operator,
    PiecewiseMean,
    Rappor,
    ReportCounts,
    SelectASize,
    SubsetSelection,
    TwoPointMean,
    UnaryEncoding,
)
from tests.statistical import assert_probability

TRIALS = 200_000
HALF, OFTEN = Fraction(1, 2), Fraction(9, 10)
LABELS = ("Report", "Guarantee", "Estimate", "Utility")
LOPSIDED = [[0.5, 0.3, 0.2, 0.0], [0.1, 0.6, 0.1, 0.2], [0.25, 0.25, 0.25, 0.25]]


def tenths(*parts: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(part, 10) for part in parts)


EXAMPLES: dict[str, tuple[Operator, ...]] = {
    "KaryResponse": (KaryResponse.for_epsilon(1.5, values=5), KaryResponse(values=3, truth=HALF)),
    "UnaryEncoding": (UnaryEncoding.for_epsilon(1, values=4), UnaryEncoding(values=3, noise=Fraction(1, 10))),
    "LocalHashing": (
        LocalHashing.for_epsilon(1, values=7),
        LocalHashing(values=5, buckets=3, truth=Fraction(3, 5)),
        LocalHashing(values=9, buckets=8, truth=HALF),
    ),
    "HadamardResponse": (
        HadamardResponse.for_epsilon(1, values=5),
        HadamardResponse(values=4, truth=OFTEN),
    ),
    "SubsetSelection": (
        SubsetSelection.for_epsilon(1, values=6),
        SubsetSelection(values=5, size=3, truth=OFTEN),
    ),
    "Rappor": (
        Rappor(values=4, width=8, hashes=2, cohorts=2),
        Rappor(
            values=3,
            width=10,
            hashes=1,
            cohorts=1,
            f=Fraction(1, 4),
            p=Fraction(1, 4),
            q=Fraction(3, 4),
        ),
    ),
    "ModularNoise": (
        ModularNoise(values=7, reach=1, share=Fraction(1)),
        ModularNoise.for_epsilon(1, values=8, reach=2),
    ),
    "BoundedLaplace": (BoundedLaplace.for_epsilon(2, values=6), BoundedLaplace(values=2, decay=0.5)),
    "TwoPointMean": (
        TwoPointMean.for_epsilon(1, values=5),
        TwoPointMean(values=2, truth=OFTEN, low=0, high=99),
    ),
    "PiecewiseMean": (
        PiecewiseMean.for_epsilon(2, values=6),
        PiecewiseMean(values=4, window=3, share=HALF),
    ),
    "LaplaceMean": (
        LaplaceMean.for_epsilon(2, values=6),
        LaplaceMean(values=3, decay=0.5, low=0, high=10),
    ),
    "MatrixOperator": (MatrixOperator(rows=LOPSIDED), MatrixOperator(rows=[[0.9, 0.1], [0.2, 0.8]])),
    "SelectASize": (
        SelectASize.for_epsilon(2, items=4, size=2),
        SelectASize(items=3, size=2, noise=Fraction(3, 10), kept=tenths(2, 3, 5)),
        SelectASize(items=3, size=3, noise=Fraction(2, 5), kept=tenths(1, 3, 4, 2)),
    ),
    "CutAndPaste": (
        CutAndPaste.for_epsilon(2, items=4, size=2),
        CutAndPaste(items=4, size=2, cutoff=3, noise=Fraction(3, 5)),
        CutAndPaste(items=3, size=3, cutoff=1, noise=Fraction(1, 2)),
    ),
}
CLIENTS = 10**15
BOUNDS = {"Rappor"}
"""Operators of which gamma is an upper bound that these examples may not attain."""
NOT_A_MEAN = {"Rappor"}
"""Operators whose estimate is no mean over single reports."""


def over(kinds: tuple[type[Any], ...], without: set[str] | None = None) -> pytest.MarkDecorator:
    chosen = [
        pytest.param(each, id=f"{name}-{place}")
        for name, some in EXAMPLES.items()
        for place, each in enumerate(some)
        if isinstance(each, kinds) and name not in (without or ())
    ]
    return pytest.mark.parametrize("operator", chosen)


every_operator = over(OPERATORS)
every_frequency = over(FREQUENCY_ORACLES)
every_average = over(FREQUENCY_ORACLES, NOT_A_MEAN)
every_mean = over(MEAN_OPERATORS)


def skewed(values: int) -> Any:
    prior = np.arange(1.0, values + 1)
    return prior / prior.sum()


def test_every_listed_operator_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(kind.__name__ for kind in OPERATORS)
    assert all(type(each).__name__ == name for name, some in EXAMPLES.items() for each in some)


@pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.__name__)
def test_module_states_report_guarantee_estimate_and_utility(kind: Any) -> None:
    lines = (sys.modules[kind.__module__].__doc__ or "").splitlines()
    starts = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert [label for label in starts if label in LABELS] == list(LABELS)


@every_operator
def test_operator_is_a_frozen_keyword_only_dataclass(operator: Any) -> None:
    assert all(field.kw_only for field in dataclasses.fields(operator))
    with pytest.raises(dataclasses.FrozenInstanceError):
        operator.values = 3


@every_operator
def test_rows_of_the_matrix_are_distributions(operator: Operator) -> None:
    matrix = operator.matrix()
    assert matrix.shape == (operator.values, operator.outputs)
    assert np.all(matrix >= 0)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(operator.values), abs=1e-12)


@every_operator
def test_reports_follow_the_matrix(operator: Operator, random: Randomness) -> None:
    matrix = operator.matrix()
    for value in range(operator.values):
        reports = operator.randomize(np.full(TRIALS, value), random)
        seen = np.bincount(operator.report_format.to_matrix_columns(reports), minlength=matrix.shape[1])
        for hits, probability in zip(seen.tolist(), matrix[value].tolist(), strict=True):
            assert_probability(hits, TRIALS, min(probability, 1.0), family=matrix.size)


@every_operator
def test_reports_of_different_clients_follow_each_their_own_row(
    operator: Operator, random: Randomness
) -> None:
    values = np.tile(np.arange(operator.values), TRIALS // operator.values)
    reports = operator.report_format.to_matrix_columns(operator.randomize(values, random))
    matrix = operator.matrix()
    for value in range(operator.values):
        seen = np.bincount(reports[values == value], minlength=matrix.shape[1])
        for hits, probability in zip(seen.tolist(), matrix[value].tolist(), strict=True):
            assert_probability(hits, int(seen.sum()), min(probability, 1.0), family=matrix.size)


@every_operator
def test_gamma_is_the_amplification_of_the_matrix(operator: Operator) -> None:
    found = amplification(operator.matrix()).overall
    if type(operator).__name__ in BOUNDS:
        assert found <= operator.gamma * (1 + 1e-9)
    else:
        assert found == pytest.approx(operator.gamma, rel=1e-9)
    assert operator.epsilon == pytest.approx(math.log(operator.gamma))


@every_operator
def test_guarantee_is_for_the_value_of_a_client_and_none_is_given_without_one(operator: Operator) -> None:
    if math.isinf(operator.gamma):
        with pytest.raises(InvalidParameterError, match="rule a value out"):
            _ = operator.guarantee
    else:
        assert operator.guarantee == PureDP(epsilon=operator.epsilon)


@every_operator
def test_posterior_is_the_rule_of_bayes(operator: Operator, random: Randomness) -> None:
    prior, matrix = skewed(operator.values), operator.matrix()
    reports = operator.randomize(np.arange(operator.values), random)
    for place, report in zip(operator.report_format.to_matrix_columns(reports), reports, strict=True):
        joint = prior * matrix[:, place]
        assert operator.posterior(prior, report) == pytest.approx(joint / joint.sum(), rel=1e-9, abs=1e-15)


@every_operator
def test_worst_case_information_is_that_of_the_matrix(operator: Operator) -> None:
    prior = skewed(operator.values)
    assert operator.worst_case_information(prior) == pytest.approx(
        information(operator.matrix(), prior), rel=1e-9
    )


@every_operator
def test_swings_are_the_extreme_posteriors_of_the_matrix(operator: Operator) -> None:
    prior = skewed(operator.values)
    properties = [np.arange(operator.values) <= last for last in range(operator.values - 1)]
    for holds, swing in zip(properties, operator.posterior_ranges(prior, properties), strict=True):
        after = compute_posteriors(operator.matrix(), prior, holds)
        assert swing.prior == pytest.approx(prior[holds].sum())
        assert swing.highest == pytest.approx(np.nanmax(after), rel=1e-9)
        assert swing.lowest == pytest.approx(np.nanmin(after), rel=1e-9)


@every_operator
def test_breaches_are_the_swings_that_pass_the_promise(operator: Operator) -> None:
    prior = skewed(operator.values)
    holds = [np.arange(operator.values) == 0]
    (swing,) = operator.posterior_ranges(prior, holds)
    within = Promise(swing.prior, min(swing.highest * 1.001, 0.9999))
    assert operator.find_breaches(prior, holds, within) == ()
    assert operator.find_breaches(prior, holds, Promise(swing.prior, swing.highest * 0.999)) == (swing,)


@every_operator
def test_reports_survive_being_stored(operator: Operator, random: Randomness, tmp_path: Path) -> None:
    reports = operator.randomize(np.arange(operator.values), random)
    pq.write_table(operator.report_format.to_arrow(reports), tmp_path / "reports.parquet")
    again = operator.report_format.from_arrow(pq.read_table(tmp_path / "reports.parquet"))
    assert np.array_equal(reports, again)


@every_operator
def test_an_engine_counts_what_python_counts(operator: Operator, random: Randomness, tmp_path: Path) -> None:
    reports = operator.randomize(np.arange(1000) % operator.values, random)
    pq.write_table(operator.report_format.to_arrow(reports), tmp_path / "reports.parquet")
    with DuckDB({"reports": tmp_path / "reports.parquet"}) as engine:
        found = [engine.count(sql).secret for sql in operator.report_format.build_count_queries("reports")]
    counts, here = operator.report_format.read_counts(found), operator.report_format.count(reports)
    assert counts.clients == here.clients == 1000
    assert np.array_equal(counts.cells, here.cells)


@every_operator
def test_counts_of_parts_add_up(operator: Operator, random: Randomness) -> None:
    reports = operator.randomize(np.arange(1000) % operator.values, random)
    whole = operator.report_format.count(reports)
    parts = operator.report_format.count(reports[:300]) + operator.report_format.count(reports[300:])
    assert parts.clients == whole.clients
    assert np.array_equal(parts.cells, whole.cells)


@every_operator
@pytest.mark.parametrize("beyond", [-1, 10**9])
def test_values_outside_of_the_domain_are_refused_without_naming_them(
    operator: Operator, beyond: int
) -> None:
    with pytest.raises(InvalidParameterError, match=r"codes from 0 to \d+; got a value outside") as caught:
        operator.randomize(np.array([0, beyond]), Randomness())
    assert str(beyond) not in str(caught.value)


@every_operator
def test_reports_of_another_operator_are_refused(operator: Operator, random: Randomness) -> None:
    reports = operator.randomize(np.zeros(3, np.int64), random)
    with pytest.raises(DataError, match="not made by this operator"):
        operator.report_format.count(reports + np.full_like(reports, 10**9))


def reports_of(operator: Operator) -> Any:
    """Every report, in the order of the matrix's columns."""
    columns = np.arange(operator.outputs or 0)
    if isinstance(operator.report_format, CodeFormat):
        return columns
    assert isinstance(operator.report_format, BitFormat)
    cohort, bits = (
        columns >> operator.report_format.width,
        columns & ((1 << operator.report_format.width) - 1),
    )
    return np.column_stack([cohort] * operator.report_format.has_cohorts + [bits]).astype(np.uint64)


def raw_of_each_report(operator: FrequencyOracle) -> Any:
    """The raw estimate from a single report, for every possible report: the estimate is their mean."""
    reports, possible = reports_of(operator), operator.matrix().max(axis=0) > 0
    found = np.zeros((len(reports), operator.values))
    for y in np.flatnonzero(possible):
        found[y] = operator.estimate_raw_shares(operator.report_format.count(reports[y : y + 1]))
    return found


@every_average
def test_raw_estimate_is_unbiased_under_the_law(operator: FrequencyOracle) -> None:
    expected = operator.matrix() @ raw_of_each_report(operator)
    assert expected == pytest.approx(np.eye(operator.values), abs=1e-9)


@every_average
def test_variance_is_that_of_the_law(operator: FrequencyOracle) -> None:
    each, k, share = raw_of_each_report(operator), operator.values, 0.3
    others = (1 - share) / (k - 1)
    shares = np.full((k, k), others) + np.eye(k) * (share - others)
    second = np.einsum("vy,yv->v", shares @ operator.matrix(), each**2)
    # a client's own value is no coin: given it, the mean of an unbiased report's square is at least 1
    assert (second - share).mean() / 100 == pytest.approx(operator.variance(share, 100), rel=1e-9)


@every_average
def test_spread_is_the_variance_of_a_weighted_sum(operator: FrequencyOracle) -> None:
    weights, law = np.cos(np.arange(operator.values)), skewed(operator.values) @ operator.matrix()
    sums = raw_of_each_report(operator) @ weights
    wanted = float(law @ (sums - law @ sums) ** 2)
    found = operator.estimate_sum_variance(expected_counts(operator, law), weights) * CLIENTS
    assert found == pytest.approx(wanted, rel=1e-6)


def expected_counts(operator: Operator, law: Any) -> ReportCounts:
    """What a very large number of clients is expected to send."""
    if isinstance(operator.report_format, CodeFormat):
        return ReportCounts(clients=CLIENTS, cells=np.rint(law * CLIENTS).astype(np.int64))
    assert isinstance(operator.report_format, BitFormat)
    counted = dataclasses.replace(operator.report_format, ones=None).count
    each = np.array([counted(report[None]).cells for report in reports_of(operator)])
    return ReportCounts(clients=CLIENTS, cells=np.rint(np.tensordot(law, each, 1) * CLIENTS).astype(np.int64))


@every_frequency
def test_shares_are_a_distribution_and_intervals_hold_the_truth(
    operator: FrequencyOracle, random: Randomness
) -> None:
    truth = np.resize(np.repeat(np.arange(operator.values), np.arange(operator.values) + 1), TRIALS)
    found = operator.estimate(operator.randomize(truth, random))
    assert found.shares.min() >= 0
    assert found.shares.sum() == pytest.approx(1)
    shares = np.bincount(truth, minlength=operator.values) / TRIALS
    low, high = found.intervals(1 - 1e-9)
    assert np.all((low <= shares) & (shares <= high))
    some = found.estimate_share(np.arange(operator.values) < 2, 1 - 1e-9)
    assert some.low <= shares[:2].sum() <= some.high
    assert found.estimate_range_share(0, 1, 1 - 1e-9) == some


@every_mean
def test_means_are_unbiased_and_their_variance_is_that_of_the_law(operator: Any) -> None:
    reports = reports_of(operator)
    each = np.array([operator.estimate(reports[y : y + 1]).mean for y in range(len(reports))])
    matrix, numbers = operator.matrix(), np.linspace(operator.low, operator.high, operator.values)
    assert matrix @ each == pytest.approx(numbers, abs=1e-9)
    for code, number in enumerate(numbers):
        wanted = float(matrix[code] @ (each - number) ** 2)
        assert operator.variance(code, 1) == pytest.approx(wanted, rel=1e-9)


@every_mean
def test_means_have_intervals_that_hold_the_truth(operator: Any, random: Randomness) -> None:
    numbers = np.linspace(operator.low, operator.high, TRIALS) ** 2
    codes = operator.encode(numbers)
    found = operator.estimate(operator.randomize(codes, random))
    truth = np.linspace(operator.low, operator.high, operator.values)[codes].mean()
    low, high = found.interval(1 - 1e-9)
    assert low <= truth <= high


@every_frequency
def test_one_report_leaves_much_doubt_about_every_share(operator: FrequencyOracle) -> None:
    """Whatever it is, it must not pass for knowledge: coins alone make it what it is."""
    for report, possible in zip(reports_of(operator), operator.matrix().max(axis=0) > 0, strict=True):
        if possible and type(operator).__name__ not in NOT_A_MEAN:
            found = operator.estimate(report[None])
            low, high = found.intervals(0.95)
            assert np.all(high > low)
            some = found.estimate_share(np.arange(operator.values) == 0)
            assert some.high - some.low > 0.5


@every_mean
def test_few_reports_that_are_alike_leave_as_much_doubt_as_coins_do(operator: Any) -> None:
    """One report tells next to nothing, however it falls; and no interval leaves the range."""
    for report in reports_of(operator)[:, None]:
        for clients in (1, 2, 5):
            found = operator.estimate(np.repeat(report, clients))
            low, high = found.interval(0.95)
            assert operator.low <= low <= high <= operator.high
            least = min(operator.variance(code, clients) for code in range(operator.values))
            assert found.error >= math.sqrt(least) * (1 - 1e-9)
            if clients == 1:
                assert high - low > (operator.high - operator.low) / 2


@every_operator
def test_an_estimate_needs_reports(operator: Any, random: Randomness) -> None:
    none = operator.randomize(np.zeros(0, np.int64), random)
    with pytest.raises(InvalidParameterError, match="at least one report"):
        operator.estimate(none)
