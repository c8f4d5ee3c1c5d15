"""Audits of questions: they show most of what a question tells, catch twins, and link people's rows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from discreet.attacks.distinguishing_events import Columns
from discreet.attacks.privacy_audit import audit_epsilon, audit_posteriors, compute_posteriors
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile, ValueCounts
from discreet.services.audit.neighboring_databases import NeighboringDatabases, generate_neighbors
from discreet.services.audit.question_audit import ScratchDatabases, audit_question
from discreet.services.audit.question_simulation import (
    LOSS,
    ExactCounts,
    NeighborCounts,
    estimate_distinguishability,
)
from discreet.services.policies import get_promise, load_policy
from discreet.sql.planner import QueryPlan
from tests.conftest import seeded
from tests.sql.tampered_plans import replace_in_core
from tests.statistical import FALSE_ALARM

POLICY = """
promise: {{prior: 1%, posterior: 5%, secret: {}}}
tables:
  people:
    source: people.parquet
    person: row
    columns:
      age: {{type: integer, low: 18, high: 90}}
      sex: {{type: category, values: [Male, Female]}}
  visits:
    source: visits.parquet
    person: patient
    rows_per_person: 3
    columns:
      visit: {{type: text, role: identifier}}
      patient: {{type: text, role: identifier}}
      kind: {{type: category, values: [acute, check]}}
  drugs:
    source: drugs.parquet
    person: {{through: visit}}
    rows_per_person: 4
    links: {{visit: visits.visit}}
    columns:
      visit: {{type: text, role: identifier}}
      dose: {{type: integer, low: 0, high: 10}}
"""
SURE = 1 - FALSE_ALARM
JOINED = "SELECT COUNT(*) FROM drugs JOIN visits USING (visit) WHERE kind = 'acute'"


def policy_of(folder: Path, secret: str = "value") -> Policy:
    path = folder / "privacy.yaml"
    path.write_text(POLICY.format(secret))
    return load_policy(path)


# -- most of what is claimed is shown ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("secret", "measure", "least"),
    [
        ("value", "COUNT(*) FILTER (WHERE sex = 'Male')", 0.9),
        ("value", "SUM(age)", 0.85),
        ("value", "AVG(age)", 0.55),  # of 3/4: a row that loses its value moves a centred sum by half
        pytest.param("value", "MEDIAN(age)", 0.65, marks=pytest.mark.night),
        ("presence", "COUNT(*)", 0.9),
        ("presence", "SUM(age)", 0.85),
        ("presence", "AVG(age)", 0.8),
        pytest.param("presence", "MEDIAN(age)", 0.55, marks=pytest.mark.night),
    ],
)
def test_the_bound_is_a_large_share_of_epsilon(
    secret: str, measure: str, least: float, tmp_path: Path
) -> None:
    question = f"SELECT {measure} FROM people"
    found = audit_question(policy_of(tmp_path, secret), question, epsilon=1, runs=12_000, random=seeded(1))
    assert least <= found.epsilon_audit.lower_bound
    assert found.epsilon_audit.lower_bound <= 1.05  # 95% sure


def test_the_loss_of_a_run_is_that_of_its_mechanisms_laws(tmp_path: Path) -> None:
    sql = "SELECT sex, AVG(age), MEDIAN(age) FROM people GROUP BY sex"
    worlds = worst(policy_of(tmp_path), sql)
    outputs = worlds.simulate_outputs(worlds.counts, 20)
    sides = (worlds.counts, worlds.neighbor_counts)
    for run in range(20):
        loss = 0.0
        for key in worlds.groups:
            for name, vector in worlds.plan.noisy_primitives.items():
                seen = int(outputs["released", name, *key][run])
                ours, theirs = (vector.mechanism.likelihood(seen, side.numbers[name][key]) for side in sides)
                loss += math.log(ours / theirs)
            for name, counted in worlds.plan.value_selections.items():
                assert isinstance(counted.mechanism, Quantile)
                picked, nobody = (
                    int(outputs["picked", name, *key][run]),
                    ValueCounts.from_rows(np.array([], np.int64)),
                )
                ours, theirs = (
                    counted.mechanism.likelihood(picked, side.values[name].get(key, nobody)) for side in sides
                )
                loss += math.log(ours / theirs)
        assert outputs[LOSS][run] == pytest.approx(loss)


# -- twins that break their claim ----------------------------------------------------------------------------


def worst(policy: Policy, sql: str, epsilon: float = 1) -> NeighborCounts:
    """The pair of some on which a question tells most."""
    random = seeded(3)
    scratch = ScratchDatabases(policy=policy, folder=Path(policy.tables["people"].source).parent / "scratch")
    scratch.folder.mkdir()
    pairs = list(islice(generate_neighbors(policy, sql, get_promise(policy).secret, random), 12))
    plan = scratch.plan_question(pairs[0].rows, sql, epsilon).query_plan

    def world(pair: NeighboringDatabases) -> NeighborCounts:
        here, there = (scratch.count_exactly(plan, side) for side in (pair.rows, pair.neighbor_rows))
        return NeighborCounts(plan=plan, counts=here, neighbor_counts=there, random=random)

    return max((world(pair) for pair in pairs), key=lambda each: estimate_distinguishability(each, 10_000))


def is_caught(worlds: NeighborCounts, runs: int = 12_000) -> bool:
    return not audit_epsilon(*worlds.samplers, claimed=1, runs=runs, confidence=SURE).holds


def with_half_the_noise(plan: QueryPlan) -> QueryPlan:
    return replace_in_core(
        plan,
        noisy_primitives={
            name: replace(each, noise=replace(each.noise, epsilon=2 * each.noise.epsilon))
            for name, each in plan.noisy_primitives.items()
            if isinstance(each.noise, DiscreteLaplace)
        },
    )


@pytest.mark.parametrize("measure", ["SUM(age)", "AVG(age)", "COUNT(*) FILTER (WHERE sex = 'Male')"])
def test_a_twin_with_half_the_noise_is_caught_and_the_question_is_not(measure: str, tmp_path: Path) -> None:
    worlds = worst(policy_of(tmp_path), f"SELECT {measure} FROM people")
    assert not is_caught(worlds)
    assert is_caught(replace(worlds, plan=with_half_the_noise(worlds.plan)))


def test_a_twin_whose_median_is_picked_four_times_as_keenly_is_caught(tmp_path: Path) -> None:
    worlds = worst(policy_of(tmp_path), "SELECT MEDIAN(age) FROM people")
    (name, counted), *_ = worlds.plan.value_selections.items()
    assert not isinstance(counted.mechanism, Exponential)
    keen = replace(counted, mechanism=replace(counted.mechanism, epsilon=Fraction(4)))
    assert not is_caught(worlds, 4_000)
    assert is_caught(replace(worlds, plan=replace_in_core(worlds.plan, value_selections={name: keen})), 4_000)


def test_a_twin_that_does_not_clamp_lets_attackers_pass_the_promised_belief(tmp_path: Path) -> None:
    """One person has an age of 1,000 where 90 is the bound: the laws are as planned, the counts are not."""
    worlds = worst(policy_of(tmp_path), "SELECT SUM(age) FROM people")
    (name, sums), *_ = worlds.counts.numbers.items()
    late = ExactCounts(numbers={name: {key: each + 1_000 for key, each in sums.items()}}, values={})
    promise = Promise(0.01, highest_posterior(0.01, 1))
    for here, kept in ((worlds.counts, True), (late, False)):
        twin = replace(worlds, counts=here)
        found = audit_posteriors(
            compute_posteriors(0.01, twin.simulate_outputs(here, 4_000)[LOSS].astype(np.float64)), promise
        )
        assert found.holds is kept
        assert is_caught(twin) is not kept
        assert (found.fraction > 0.9) is not kept


def test_a_twin_whose_interval_stands_around_the_exact_value_is_caught(tmp_path: Path) -> None:
    """The laws of what is released say nothing of it; the columns that everybody is shown do."""
    worlds = worst(policy_of(tmp_path), "SELECT SUM(age) FROM people")

    def leaky(counts: ExactCounts, runs: int) -> Columns:
        exact = next(iter(next(iter(counts.numbers.values())).values()))
        outputs = worlds.simulate_outputs(counts, runs)
        low = next(name for name in outputs if name[0] == "low")
        return outputs | {low: np.full(runs, exact - 90.0)}

    found = audit_epsilon(
        lambda runs: leaky(worlds.counts, runs),
        lambda runs: leaky(worlds.neighbor_counts, runs),
        claimed=1,
        runs=12_000,
        confidence=SURE,
    )
    assert not found.holds


# -- rows that are linked ------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [Relation.VALUE, Relation.PRESENCE])
def test_every_row_finds_its_person_through_its_link(secret: Relation, tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    for pair in islice(generate_neighbors(policy, JOINED, secret, seeded(5)), 20):
        for side in (pair.rows, pair.neighbor_rows):
            owners = {row["visit"]: row["patient"] for row in side["visits"]}
            assert len(owners) == len(side["visits"])
            drugs = [owners[row["visit"]] for row in side["drugs"]]
            assert all(drugs.count(person) <= 4 for person in drugs)
        others = [
            [row for row in side["visits"] if row["patient"] != "1"]
            for side in (pair.rows, pair.neighbor_rows)
        ]
        assert others[0] == others[1]


def test_a_question_over_linked_tables_is_audited_close_to_its_claim(tmp_path: Path) -> None:
    for sql in (JOINED, "SELECT SUM(dose) FROM drugs"):
        found = audit_question(policy_of(tmp_path), sql, epsilon=1, runs=12_000, random=seeded(2))
        assert 0.85 <= found.epsilon_audit.lower_bound <= 1.05
