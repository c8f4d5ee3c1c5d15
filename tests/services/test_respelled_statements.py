"""However a statement is spelled, what it measures is measured once: no charge, no new noise, no data read.

Statements are drawn, and each is spelled in ways that mean the same: aliases, order of columns, of keys and
of conditions, comparisons turned around, BETWEEN and IN in other words, parentheses, quotes, comments,
subqueries, CTEs, ORDER BY and LIMIT.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.core.engine import Closeable, Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.services.curator import Curator
from tests.services.people_table import draw_people, read, write_policy
from tests.services.test_measurement_store import BY_SEX, open_file
from tests.services.test_repeated_measurements import list_stored_numbers

Choose = Any
MEASURES = ("COUNT(*)", "SUM(age)", "AVG(height)", "MEDIAN(age)", "COUNT(*) FILTER (WHERE age > 50)")
TWINS = {"COUNT(*)": ("COUNT(*)", "count(1)", "COUNT ( * )"), "SUM(age)": ("SUM(age)", 'sum("age")')}
CONDITIONS = {
    "age > 30": ("age > 30", "30 < age", "NOT (age <= 30)", "(age > 30)", "NOT 30 >= age"),
    "height BETWEEN 60 AND 200": (
        "height BETWEEN 60 AND 200",
        "height >= 60 AND height <= 200",
        "(200 >= height) AND 60 <= height",
        "NOT (height < 60 OR height > 200)",
    ),
    "ward IN ('a', 'b')": (
        "ward IN ('a', 'b')",
        "ward IN ('b', 'a', 'b')",
        "(ward = 'a' OR ward = 'b')",
        "('b' = ward OR 'a' = ward)",
    ),
    "age <> 77": ("age <> 77", "age != 77", "77 <> age", "NOT age = 77"),
    "ward NOT IN ('c', 'd')": (
        "ward NOT IN ('c', 'd')",
        "NOT ward IN ('d', 'c')",
        "(ward <> 'd' AND 'c' <> ward)",
        "NOT (ward = 'c' OR ward = 'd')",
    ),
}


@dataclass
class Switch(Closeable):
    """Randomness and an engine that can be switched off: whoever needs them then fails."""

    engine: Engine
    is_on: bool = True
    drawn: list[int] = field(default_factory=list)

    def draw(self, size: int) -> bytes:
        assert self.is_on, "noise was drawn for what was measured already"
        return os.urandom(size)

    def count(self, sql: str) -> Exact[pa.Table]:
        assert self.is_on, "data was read for what was measured already"
        return self.engine.count(sql)

    def close(self) -> None:
        """The engine is closed by its own curator."""


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return draw_people(400, seed=5)


@pytest.fixture(scope="module")
def base(rows: pa.Table) -> Iterator[Curator]:
    policy = write_policy(promise={"prior": "1%", "posterior": "99.9999%"})
    with Curator(policy, {"people": rows}, ledger=":memory:") as curator:
        yield curator


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a statement means: keys, measures and conditions."""

    keys: Sequence[str]
    measures: Sequence[str]
    conditions: Sequence[str]

    def write(self) -> str:
        """Return the statement as everybody would write it."""
        columns = [*self.keys, *(f"{each} AS m{place}" for place, each in enumerate(self.measures))]
        sql = f"SELECT {', '.join(columns)} FROM people"
        sql += f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        return f"{sql} GROUP BY {', '.join(self.keys)}" if self.keys else sql


statements = st.builds(
    Statement,
    keys=st.lists(st.sampled_from(["sex", "ward"]), unique=True, max_size=2),
    measures=st.lists(st.sampled_from(MEASURES), unique=True, min_size=1, max_size=3),
    conditions=st.lists(st.sampled_from([*CONDITIONS]), unique=True, max_size=3),
)


def respell(statement: Statement, draw: Choose) -> tuple[str, dict[str, str], bool]:
    """Return another spelling, the name of each column in it, and whether it has all rows."""
    alias = draw(st.sampled_from(["", "p", '"Some People"']))
    names = {
        f"m{place}": draw(st.sampled_from([f"m{place}", f"x{place}"]))
        for place, _ in enumerate(statement.measures)
    }
    keys = {name: f"{alias}.{name}" if alias and draw(st.booleans()) else name for name in statement.keys}
    shown = [keys[name] for name in statement.keys]
    for place, measure in enumerate(statement.measures):
        shown.append(f"{draw(st.sampled_from(TWINS.get(measure, (measure,))))} AS {names[f'm{place}']}")
    columns = draw(st.permutations(shown))
    conditions = [
        draw(st.sampled_from(CONDITIONS[each])) for each in draw(st.permutations(statement.conditions))
    ]
    if conditions and draw(st.booleans()):
        conditions.append(draw(st.sampled_from(conditions)))  # said twice
    if len(conditions) > 1 and draw(st.booleans()):
        conditions = [f"({conditions[0]} AND ({' AND '.join(conditions[1:])}))"]
    space = draw(st.sampled_from([" ", "\n  ", " /* a comment */ "]))
    sql = f"SELECT{space}{', '.join(columns)}{space}FROM people{f' AS {alias}' if alias else ''}"
    sql += f"{space}WHERE {' AND '.join(conditions)}" if conditions else ""
    if keys:
        grouped = draw(st.permutations([*keys.values()]))
        if draw(st.booleans()):
            grouped = [str(columns.index(each) + 1) for each in grouped]
        sql += f"{space}GROUP BY {', '.join(grouped)}"
    kind = draw(st.sampled_from(["plain", "subquery", "cte"]))
    if kind == "subquery":
        sql = f"SELECT * FROM ({sql}) AS t"
    if kind == "cte":
        sql = f"WITH t AS ({sql}) SELECT * FROM t"
    has_all = True
    if draw(st.booleans()):
        sql += f" ORDER BY {draw(st.integers(1, len(columns)))} {draw(st.sampled_from(['', 'DESC']))}"
        if draw(st.booleans()):
            sql, has_all = f"{sql} LIMIT {draw(st.integers(1, 3))}", False
    if draw(st.booleans()):
        sql = sql.replace("SELECT", "select").replace("FROM", "from") + ";"
    return sql, {name: name for name in statement.keys} | names, has_all


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statement=statements, data=st.data())
def test_a_respelled_statement_is_free_and_shows_the_stored_numbers(
    base: Curator, statement: Statement, data: st.DataObject
) -> None:
    switch = Switch(base._engine)
    curator = Curator.from_parts(
        base.policy, ledger=base.ledger, engine=switch, analyst=base.analyst, random=Randomness(switch.draw)
    )
    first = curator.ask(statement.write(), epsilon=0.01, raw=True)
    wanted = {tuple(row[name] for name in statement.keys): row for row in read(first)}
    charges, spent, switch.is_on = len(base.ledger.list_entries()), base.budget.spent, False
    for _ in range(3):
        sql, names, has_all = respell(statement, data.draw)
        plan = curator.plan(sql, epsilon=0.01, raw=True)
        assert (plan.cost, plan.repeated) == (0, True), sql
        answer = curator.ask(plan)
        assert (answer.epsilon, answer.entries) == (0, first.entries), sql
        found = {tuple(row[names[name]] for name in statement.keys): row for row in read(answer)}
        assert found.keys() <= wanted.keys(), sql
        assert len(found) == len(wanted) or not has_all, sql
        for key, row in found.items():
            assert {name: row[shown] for name, shown in names.items()} == wanted[key], sql
    assert (len(base.ledger.list_entries()), base.budget.spent) == (charges, spent)


def test_other_data_is_never_combined_with_what_was_measured_before(tmp_path: Path, rows: pa.Table) -> None:
    by_ward, other = "SELECT ward, COUNT(*) AS n FROM people GROUP BY ward", rows.slice(0, 300)
    with open_file(tmp_path, rows) as curator:
        curator.ask(BY_SEX, epsilon=0.1)
        curator.ask(by_ward, epsilon=0.1)
    with pytest.raises(RequestError, match="data_version"), open_file(tmp_path, other):
        pass
    with open_file(tmp_path, other, data_version="2") as curator:
        plan = curator.plan(BY_SEX, epsilon=0.12)
        assert (plan.cost, plan.entries, plan.combined_entries, len(plan.offers)) == (0.12, (), (), 1)
        answer = curator.ask(plan)
        assert answer.entries == (3,)
        assert [row["n"] for row in read(answer)] == [
            max(0, each) for each in list_stored_numbers(curator, 3)
        ]
        with pytest.raises(RequestError, match="not free"):
            curator.ask(by_ward, free=True)
    with open_file(tmp_path, rows) as curator:
        assert curator.ask(BY_SEX, free=True).entries == (1,)
