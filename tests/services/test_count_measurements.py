"""Tables of counts and questions measure the same once, where they are the same, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.errors import RequestError
from discreet.mining.tabulation.contingency import ContingencyPlan, make_counter
from discreet.services.answer_cache import table_to_bytes
from discreet.services.count_publication import make_offer, release_counts
from discreet.services.count_requests import TabulateRequest
from discreet.services.curator import Curator
from discreet.services.tabulate import plan_table_release
from tests.services.people_table import read
from tests.services.test_stored_slices import find_widths

pytestmark = pytest.mark.filterwarnings("ignore:check")
COLUMNS: dict[str, Any] = {
    "sex": {"type": "category", "values": ["m", "f"], "nulls": False},
    "ward": {"type": "category", "values": ["d", "a", "c"], "nulls": True},
    "unit": {"type": "category", "values": ["x", "y"]},
    "smoker": {"type": "boolean", "nulls": True},
    "month": {"type": "integer", "low": 1, "high": 12, "nulls": False},
    "age": {"type": "integer", "low": 0, "high": 100},
    "person": {"type": "integer", "role": "identifier"},
}
BY_BOTH = "SELECT sex, ward, COUNT(*) AS n FROM people GROUP BY sex, ward"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Rows with missing and undeclared values, values beyond bounds, and people with too many rows."""
    random = np.random.default_rng(8)
    pick: Any = lambda values: random.choice(np.array(values, dtype=object), 600).tolist()  # noqa: E731
    return pa.table(
        {
            "sex": pick(["m", "f", "z", None]),
            "ward": pick(["a", "c", "d", "elsewhere", None]),
            "unit": pick(["x", "y", "z", None]),
            "smoker": pa.array(pick([True, False, None]), pa.bool_()),
            "month": pa.array(pick([*range(1, 13), 0, 14, None]), pa.int64()),
            "age": pa.array(pick([*range(101), None]), pa.int64()),
            "person": [place // 4 for place in range(600)],
        }
    )


@contextmanager
def open_curator(rows: pa.Table, **people: Any) -> Iterator[Curator]:
    bounding = people.pop("bounding", None)
    policy: dict[str, Any] = {
        "promise": {"prior": "1%", "posterior": "99.9%"},
        "tables": {"people": {"columns": COLUMNS, **people}},
    }
    policy |= {} if bounding is None else {"bounding": bounding}
    with Curator(policy, {"people": rows}, ledger=":memory:") as curator:
        yield curator


@pytest.fixture
def curator(rows: pa.Table) -> Iterator[Curator]:
    with open_curator(rows) as curator:
        yield curator


def tabulate(curator: Curator, *columns: str, epsilon: float = 0.5, **more: Any) -> Any:
    request = TabulateRequest(table="people", columns=columns, epsilon=epsilon, **more)
    return release_counts(curator, plan_table_release(curator, request))


@pytest.mark.parametrize("people", [{}, {"person": "person", "rows_per_person": 2}])
@pytest.mark.parametrize(
    "columns", [("sex",), ("ward",), ("unit",), ("smoker", "sex"), ("month",), ("unit", "ward", "month")]
)
def test_the_cells_of_a_table_are_the_groups_of_its_question(
    rows: pa.Table, columns: tuple[str, ...], people: dict[str, Any]
) -> None:
    """Without noise, so that the same rows are in the same cells, whatever the data holds."""
    with open_curator(rows, **people) as curator:
        request = TabulateRequest(table="people", columns=columns, epsilon=1)
        publication = plan_table_release(curator, request)
        plan, measurement = publication.plan, publication.measurement
        assert measurement is not None
        assert isinstance(plan, ContingencyPlan)
        counter = make_counter(plan, curator.policy, curator._engine)
        (cells,) = counter.count_marginals([columns]).secret
        asked = curator._engine.count(measurement.core.statement).secret.to_pylist()
    names, (count,) = [*measurement.values], {*asked[0]} - {*measurement.values}
    assert len(asked) == np.prod([len(own) for own in measurement.values.values()])
    for row in asked:
        place = tuple(measurement.values[name].index(row[name]) for name in names)
        assert row[count] == cells[place], row


def test_a_question_after_the_table_is_free_and_shows_its_numbers(curator: Curator) -> None:
    released = tabulate(curator, "ward", "sex")
    answer = curator.ask(BY_BOTH, epsilon=0.5, raw=True)
    assert (answer.epsilon, answer.entries) == (0, (1,))
    cells = {(row["sex"], row["ward"]): row["noisy"] for row in released.rows.to_pylist()}
    assert {(row["sex"], row["ward"] or "missing"): row["n"] for row in read(answer)} == cells
    slice_of = curator.ask("SELECT sex, COUNT(*) AS n FROM people WHERE ward = 'a' GROUP BY sex", epsilon=0.5)
    assert (slice_of.epsilon, {row["sex"]: row["n"] for row in read(slice_of)}) == (
        0,
        {sex: max(0, cells[sex, "a"]) for sex in ("m", "f")},
    )
    assert slice_of.interval_kind == {"n": "all_rows"}, "the table has shown all cells"
    assert len(curator.ledger.list_entries()) == 1
    curator.ledger.verify()


def test_a_table_after_the_question_is_free_and_shows_its_numbers(curator: Curator) -> None:
    answer = curator.ask(BY_BOTH, epsilon=0.5, raw=True)
    request = TabulateRequest(table="people", columns=("ward", "sex"), epsilon=0.5)
    offer = make_offer(curator, plan_table_release(curator, request))
    assert (offer.entry, offer.fits_budget, offer.belief_after) == (1, True, offer.belief_before)
    released = tabulate(curator, "ward", "sex")
    assert (released.entry, released.repeated, len(curator.ledger.list_entries())) == (1, True, 1)
    cells = {(row["sex"], row["ward"]): row["noisy"] for row in released.rows.to_pylist()}
    assert {(row["sex"], row["ward"] or "missing"): row["n"] for row in read(answer)} == cells
    with open_curator(pa.table({name: [] for name in COLUMNS})) as other:
        fresh = tabulate(other, "ward", "sex")
    assert released.rows.schema == fresh.rows.schema
    for name in ("ward", "sex"):
        assert released.rows[name] == fresh.rows[name]


def test_the_certificate_states_the_noise_that_the_counts_have(curator: Curator) -> None:
    curator.ask(BY_BOTH, epsilon=2)
    released = tabulate(curator, "ward", "sex", epsilon=0.5)
    assert (released.repeated, released.publication.certificate["epsilon"]) == (True, 2)
    assert json.loads(json.dumps(released.publication.certificate["guarantee"]))["epsilon"] == "2"
    fresh = tabulate(curator, "ward", "sex", epsilon=3)
    assert (fresh.repeated, fresh.entry) == (False, 2)
    assert released.publication.plan_summary["error95"] > fresh.publication.plan_summary["error95"]


def test_cells_that_only_a_table_has_are_not_groups_of_the_question(curator: Curator) -> None:
    curator.ask("SELECT unit, COUNT(*) AS n FROM people GROUP BY unit", epsilon=0.5)
    released = tabulate(curator, "unit")
    assert (released.repeated, released.rows.num_rows) == (False, 3)
    answer = curator.ask("SELECT unit, COUNT(*) AS n FROM people GROUP BY unit LIMIT 3", epsilon=0.5)
    assert {row["unit"] for row in read(answer)} == {"x", "y"}


def test_a_table_and_a_question_of_several_noises_are_one_mean(curator: Curator) -> None:
    tabulate(curator, "sex", epsilon=0.1)
    plan = curator.plan("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", epsilon=0.12)
    assert (plan.cost, plan.combined_entries) == (0.12, (1,))
    assert curator.ask(plan).entries == (1, 2)
    assert tabulate(curator, "sex", epsilon=0.12).entry == 2


def test_a_stored_table_serves_as_well_as_its_noise_is_narrow(curator: Curator) -> None:
    tabulate(curator, "sex", epsilon=0.1)
    assert curator.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", epsilon=0.5).epsilon == 0.5


@pytest.mark.parametrize(
    ("people", "columns", "more"),
    [
        ({}, ("age",), {}),
        ({}, ("sex",), {"marginals": (("sex",),)}),
        ({}, (), {"ranges": "month"}),
        ({"impossible": [{"sex": ["m"], "ward": ["a"]}]}, ("sex", "ward"), {}),
        ({"person": "person", "rows_per_person": 2, "bounding": "weights"}, ("sex",), {}),
    ],
)
def test_what_is_not_the_same_measurement_is_left_alone(
    rows: pa.Table, people: dict[str, Any], columns: tuple[str, ...], more: dict[str, Any]
) -> None:
    with open_curator(rows, **people) as curator:
        request = TabulateRequest(table="people", columns=columns, epsilon=0.5, **more)
        assert plan_table_release(curator, request).measurement is None
        tabulate(curator, *columns, **more)
        with pytest.raises(RequestError, match="not free"):
            curator.ask(f"SELECT {(columns or ('month',))[0]}, COUNT(*) FROM people GROUP BY 1", free=True)


def test_the_stored_file_is_the_table_and_a_repeat_the_same(curator: Curator) -> None:
    first, again = tabulate(curator, "sex"), tabulate(curator, "sex")
    assert (again.repeated, again.rows) == (True, first.rows)
    assert first.rows.schema.metadata is None
    assert table_to_bytes(again.rows) == table_to_bytes(first.rows)
    assert find_widths(curator.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", epsilon=0.5))
