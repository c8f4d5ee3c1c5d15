"""Whole answers on neighbouring tables: how much an attacker learns from what is shown, counted.

One person has rows in one group, or in another. The engine's exact counts are kept, so each run costs only
the mechanisms and what follows them. The twin's engine keeps more of a person's rows than the plan believes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.belief import Promise
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.sql.plan_execution import build_released_table, measure_core
from discreet.sql.planner import QueryPlan, plan_query
from tests.conftest import seeded
from tests.sql.claims import engine
from tests.sql.remembering import Remembering
from tests.sql.tables import Row, Tables, policy
from tests.sql.tampered_plans import replace_statement
from tests.statistical import FALSE_ALARM

RUNS = 1_500
KNOWN = 1e-3
"""What is known to tell may be caught with less confidence."""
Event = Callable[[dict[str, dict[str, Any]]], bool]


@dataclass(frozen=True)
class Audited:
    """A question, the event that tells the neighbours apart, and how often it happens on each.

    `others` are the costs of people with one row each, in each of the two groups.
    """

    text: str
    event: Event
    epsilon: int
    others: tuple[int, ...] = ()

    def hits(self, folder: Path, *, rows_per_person: int = 1) -> tuple[int, int]:
        """With more rows per person than one, the engine's statements are those of a wider policy."""
        terms = policy(str(folder))
        wider = self._planned(terms, rows_per_person)
        made = replace_statement(self._planned(terms, 1), wider.statement)
        here, there = (self._hits(_visits(kind, self.others), made, folder, terms) for kind in "zm")
        return here, there

    def _planned(self, terms: Policy, rows: int) -> QueryPlan:
        table = terms.tables["visits"].model_copy(update={"rows_per_person": rows})
        narrow = terms.model_copy(update={"tables": {**terms.tables, "visits": table}})
        return plan_query(self.text, narrow, Promise(0.01, 0.05), epsilon=self.epsilon)

    def _hits(self, tables: Tables, made: QueryPlan, folder: Path, terms: Policy) -> int:
        random = seeded(11)
        with Remembering(engine(tables, folder, terms)) as over:
            return sum(self.event(_shown(made, over, random)) for _ in range(RUNS))


def _shown(made: QueryPlan, over: Remembering, random: Randomness) -> dict[str, dict[str, Any]]:
    """The released table by group; nothing is done with it afterwards."""
    table = build_released_table(made, made.core, measure_core(made.core, over, random))
    return {row["k0"]: row for row in table.to_pylist()}


def _visits(kind: str, others: tuple[int, ...]) -> Tables:
    """One person with four rows at the upper bound, all of one kind, and others with a row each."""
    row: Row = {"cost": "10", "kind": kind}
    rows: list[Row] = [{"cost": str(cost), "kind": each} for each in "zm" for cost in others]
    people = {f"{place}": (each,) for place, each in enumerate(rows)}
    return Tables((), {"s": tuple({**row, "text": text} for text in "abcd"), **people}, {}, ())


COUNTS = Audited(
    "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind",
    lambda shown: shown["z"]["m0"] >= 1 and shown["m"]["m0"] <= 0,
    epsilon=1,
)
# A mean is shown where the count is at least 5, and is above the middle of the range where the centred sum is
# above 0. The person's row takes one group there in both, and leaves the other with a count below 5: three of
# the four noises that pay for the answer are told from, so the best that can be found is 3/4 of epsilon.
MEANS = Audited(
    "SELECT kind, AVG(cost) AS a FROM visits GROUP BY kind",
    lambda shown: (shown["z"]["m0"] or 0) > 3.5 and shown["m"]["m0"] is None,
    epsilon=4,
    others=(-3, 4, 4, 3),
)


@pytest.mark.parametrize("audited", [COUNTS, MEANS], ids=["COUNT", "AVG"])
def test_no_answer_tells_more_than_its_epsilon(audited: Audited, tmp_path: Path) -> None:
    hits = audited.hits(tmp_path)
    assert compute_epsilon_lower_bound(*hits, RUNS, error_rate=FALSE_ALARM) <= audited.epsilon
    assert compute_epsilon_lower_bound(*hits, RUNS, error_rate=KNOWN) >= audited.epsilon / 2


@pytest.mark.parametrize("audited", [COUNTS, MEANS], ids=["COUNT", "AVG"])
def test_an_engine_that_keeps_more_rows_is_caught(audited: Audited, tmp_path: Path) -> None:
    hits = audited.hits(tmp_path, rows_per_person=4)
    assert compute_epsilon_lower_bound(*hits, RUNS, error_rate=KNOWN) > audited.epsilon
