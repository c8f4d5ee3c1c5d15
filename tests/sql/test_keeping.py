"""Which rows of a person a question keeps: the first by rank, however many its filter leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql.planner import plan_query
from discreet.sql.row_truncation import BITS, truncate_groups, truncate_rows, truncate_rows_by_sorting
from tests.sql.example import PROMISE, TAILED

Ranks = dict[int, dict[int, str | None]]
LAST = 2**31 - 1
RANKS = st.one_of(st.integers(1, 12), st.integers(1, 3 * BITS), st.sampled_from([LAST - 1, LAST]))
CELLS = st.sampled_from(["a", "b", "c", None])
PEOPLE = st.dictionaries(
    st.integers(0, 2**127 - 1),
    st.dictionaries(RANKS, CELLS, min_size=1, max_size=40),
    max_size=4,
)
FULL = dict.fromkeys(range(1, 4 * BITS), "a")


@pytest.fixture(scope="module")
def empty() -> Iterator[Engine]:
    with DuckDB({}) as engine:
        yield engine


def rows_of(people: Ranks) -> str:
    """The rows that a question asks for, as the store would hold them."""
    rows = [
        f"({person}::HUGEINT, {rank}::INTEGER, {'NULL' if cell is None else repr(cell)}::VARCHAR)"
        for person, ranks in people.items()
        for rank, cell in ranks.items()
    ]
    names = '"_discreet_person", "_discreet_rank", cell'
    values = ", ".join(rows) or "(0::HUGEINT, 1::INTEGER, NULL::VARCHAR)"
    return f"SELECT * FROM (VALUES {values}) AS v({names}) WHERE {bool(rows)}"


def kept(engine: Engine, statement: str) -> Counter[tuple[int, int, str | None]]:
    texts = f'SELECT "_discreet_person"::VARCHAR AS p, "_discreet_rank" AS r, cell FROM ({statement})'
    found = engine.count(texts).secret.to_pylist()
    return Counter((int(row["p"]), row["r"], row["cell"]) for row in found)


@settings(max_examples=60)
@given(people=PEOPLE, most=st.one_of(st.integers(1, 12), st.sampled_from([BITS, 1000, LAST, 2**63])))
@example(people={1: FULL, 2: {BITS + 3: "a", BITS + 4: "a", BITS + 5: "a", 1: "a", 3 * BITS: "a"}}, most=3)
@example(people={1: dict.fromkeys(range(BITS + 4, 4 * BITS), "a"), 2: {4: "a", BITS + 3: "a"}}, most=3)
def test_a_persons_first_rows_are_kept(empty: Engine, people: Ranks, most: int) -> None:
    wanted = Counter(
        (person, rank, ranks[rank]) for person, ranks in people.items() for rank in sorted(ranks)[:most]
    )
    assert kept(empty, truncate_rows(rows_of(people), most)) == wanted
    assert kept(empty, truncate_rows_by_sorting(rows_of(people), most)) == wanted


@settings(max_examples=30)
@given(cells=st.lists(CELLS, max_size=12), most=st.integers(1, 12))
def test_of_rows_whose_hashes_are_equal_the_values_decide(
    empty: Engine, cells: list[str | None], most: int
) -> None:
    rows = " UNION ALL ".join(rows_of({1: {7: cell}}) for cell in cells) or rows_of({})
    wanted = sorted(cells, key=lambda cell: (cell is None, cell))[:most]
    found = kept(empty, truncate_rows_by_sorting(rows, most, ["cell"]))
    assert found == Counter((1, 7, cell) for cell in wanted)


@settings(max_examples=60)
@given(people=PEOPLE, most=st.integers(1, 4), groups=st.integers(1, 4))
def test_a_persons_first_rows_of_its_first_groups_are_kept(
    empty: Engine, people: Ranks, most: int, groups: int
) -> None:
    wanted: Counter[tuple[int, int, str | None]] = Counter()
    for person, ranks in people.items():
        order = sorted(ranks)
        cells = list(dict.fromkeys(ranks[rank] for rank in order))[:groups]
        for cell in cells:
            wanted.update((person, rank, cell) for rank in [r for r in order if ranks[r] == cell][:most])
    assert kept(empty, truncate_groups(rows_of(people), ["cell"], most, groups)) == wanted


ROWS, MOST = 400, 3
COLUMNS = {
    "who": {"type": "text", "role": "identifier"},
    "at": {"type": "integer", "low": 0, "high": ROWS},
    "side": {"type": "category", "values": ["l", "r"]},
}


@pytest.mark.parametrize("kept_groups", [None, 1])
@pytest.mark.parametrize("left", [ROWS, 100, 20, 5, MOST, 2, 1, 0])
def test_a_filter_wastes_no_row_that_a_person_may_contribute(
    tmp_path: Path, left: int, kept_groups: int | None
) -> None:
    people = ["ada", "bo", "cyd"]
    rows = [(who, at, "l") for who in people for at in range(ROWS)]
    table = pa.table(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
    pq.write_table(table, tmp_path / "x.parquet")
    bounds = {"person": "who", "rows_per_person": MOST, "groups_per_person": kept_groups}
    terms = {"t": {"source": str(tmp_path / "x.parquet"), "columns": COLUMNS, **bounds}}
    policy = Policy.model_validate({"tables": terms})
    asked = f"SELECT side, COUNT(*) AS n FROM t WHERE at < {left} GROUP BY side"
    made = plan_query(asked, policy, TAILED if kept_groups else PROMISE, epsilon=1, leak=1e-7)
    with DuckDB(prepare_store(policy, None)) as engine:
        counts = engine.count(made.statement).secret.column(1).to_pylist()
    assert counts == [len(people) * min(MOST, left), 0]
