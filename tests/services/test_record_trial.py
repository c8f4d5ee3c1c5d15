"""One record attacked three ways, as the custodian sees it: beliefs beside the cap that was promised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.belief.odds import logit
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.services.policies import load_policy
from discreet.services.record_evaluation import (
    RecordEvaluation,
    RecordRequest,
    attack_record,
    list_attackable_tables,
)
from tests.services import patients


def served(folder: Path, prior: str, posterior: str) -> tuple[Policy, DuckDB]:
    policy = load_policy(patients.write(folder, prior=prior, posterior=posterior))
    return policy, DuckDB.open(prepare_store(policy, None))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Policy, DuckDB]]:
    policy, engine = served(tmp_path_factory.mktemp("patients"), "1%", "5%")
    with engine:
        yield policy, engine


def attacked(usual: tuple[Policy, DuckDB], value: str | None = None, **person: str) -> RecordEvaluation:
    return attack_record(
        *usual, RecordRequest(table="patients", person=person, column="disease", value=value)
    )


def test_who_is_alone_is_found_out_in_the_table_and_not_beyond_the_cap_in_answers(
    usual: tuple[Policy, DuckDB],
) -> None:
    for _ in range(5):
        found = attacked(usual, id="67")
        raw, coarse, private = found.beliefs
        assert (raw.matching_rows, raw.rows_with_value, raw.posterior) == (1, 1, 1.0)
        assert coarse.matching_rows is not None
        assert coarse.matching_rows >= 5
        assert private.posterior <= found.promised_cap == pytest.approx(0.05)
        assert found.truth
    assert found.person == "age 27, sex f, zipcode 13068"


def test_a_false_claim_is_refuted_by_the_table(usual: tuple[Policy, DuckDB]) -> None:
    own = attacked(usual, id="67").claim.removeprefix("disease is ")
    other = next(each for each in patients.DISEASES if each != own)
    found = attacked(usual, other, age="27", sex="f", zipcode="13068")
    assert found.beliefs[0].posterior == 0
    assert not found.truth


def test_belief_in_tables_follows_the_odds_of_the_rows_that_fit(usual: tuple[Policy, DuckDB]) -> None:
    found = attacked(usual, id="8")
    raw, coarse, _ = found.beliefs
    assert (raw.matching_rows, raw.rows_with_value) == (2, 1)
    for seen in (raw, coarse):
        assert seen.matching_rows is not None
        assert seen.rows_with_value is not None
        if 0 < seen.rows_with_value < seen.matching_rows:
            gained = logit(seen.posterior) - logit(found.prior)
            assert gained == pytest.approx(logit(seen.rows_with_value / seen.matching_rows) - logit(0.25))


def test_whose_prior_is_the_share_of_everybody_believes_the_share_of_the_rows_that_fit(
    tmp_path: Path,
) -> None:
    policy, engine = served(tmp_path, "25%", "50%")
    with engine:
        for seen in attacked((policy, engine), id="8").beliefs[:2]:
            assert seen.matching_rows is not None
            assert seen.rows_with_value is not None
            assert seen.posterior == pytest.approx(seen.rows_with_value / seen.matching_rows)


def test_only_tables_with_something_known_and_something_secret_are_attacked(
    usual: tuple[Policy, DuckDB],
) -> None:
    policy, _ = usual
    assert list_attackable_tables(policy) == ("patients",)
    table = policy.tables["patients"]
    several = table.model_copy(update={"rows_per_person": 3})
    assert list_attackable_tables(policy.model_copy(update={"tables": {"patients": several}})) == ()


@pytest.mark.parametrize(
    ("person", "column", "error", "said"),
    [
        ({}, "disease", RequestError, "no person is named"),
        ({"name": "Joe"}, "disease", RequestError, "no column name"),
        ({"id": "67"}, "age", RequestError, "is not a sensitive column"),
        ({"age": "27"}, "disease", DataError, "4 rows"),
        ({"id": "9999"}, "disease", DataError, "nobody in patients"),
    ],
)
def test_who_is_not_one_person_is_refused(
    usual: tuple[Policy, DuckDB], person: dict[str, str], column: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        attack_record(*usual, RecordRequest(table="patients", person=person, column=column))
