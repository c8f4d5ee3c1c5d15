"""The audit of a question: how much its answers tell of one person, counted on made-up neighbours.

Never       the real data: the policy's sources are not opened, and its ledger is not charged. A scratch
            curator, in memory, over made-up tables plans the question as the real one would.
Pair        of several made-up pairs the one whose exact counts lie furthest apart, in units of the plan's
            noise: for discrete Laplace noise that is the loss that the pair can show. Made-up counts may be
            looked at.
Runs        the engine counts once for each neighbour; each run draws the noise anew and estimates. What the
            question does with the released table afterwards is left out, as it can only tell less.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from discreet.app.curator import Curator
from discreet.app.neighbours import Neighbours, Rows, neighbours, written
from discreet.app.policies import promise_of
from discreet.attacks.audit import CONFIDENCE, Audited, Draw, audit
from discreet.core.engine import Engine
from discreet.core.numbers import Real
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.values import Exact
from discreet.engines.duckdb import DuckDB
from discreet.engines.store import prepare
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.sql.answer import Release, answer
from discreet.sql.plan import Plan, Vector

PAIRS = 16
RUNS = 6_000
NEARLY = 0.999


def audit_question(
    policy: Policy,
    sql: str,
    *,
    epsilon: Real,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    random: Randomness | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audited:
    """Audit a question under a policy, on the pair of made-up neighbours that tells most of some."""
    random, tell = random or Randomness(), progress or (lambda _: None)
    promise = promise_of(policy)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        scratch = Scratch(policy=policy, folder=Path(folder))
        made_up = neighbours(policy, sql, promise.secret, random)
        first = next(made_up)
        plan = scratch.plan(first.here, sql, epsilon)
        tell("choosing neighbours")
        pair = _furthest(scratch, plan, itertools.chain([first], made_up), float(epsilon))
        with ExitStack() as stack:
            engines = [stack.enter_context(scratch.engine(side)) for side in (pair.here, pair.there)]
            tell(f"running it {2 * runs:,} times")
            here, there = (_draw(plan, engine, random) for engine in engines)
            return audit(
                here,
                there,
                claimed=epsilon,
                delta=max(0.0, plan.guarantee.profile(float(epsilon))),
                runs=runs,
                confidence=confidence,
            )


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """Made-up tables under a policy, in a folder that goes."""

    policy: Policy
    folder: Path
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def plan(self, rows: Rows, sql: str, epsilon: Real) -> Plan:
        with Curator.under(self._written(rows)) as curator:
            return curator.plan(sql, epsilon=epsilon).plan

    def engine(self, rows: Rows) -> Remembering:
        return Remembering(DuckDB.open(prepare(self._written(rows), None)))

    def _written(self, rows: Rows) -> Policy:
        return written(self.policy, rows, self.folder / str(next(self.numbers)))


@dataclass(frozen=True)
class Remembering:
    """An engine that counts each statement once."""

    engine: Engine
    known: dict[str, Exact[pa.Table]] = field(default_factory=dict)

    def count(self, sql: str) -> Exact[pa.Table]:
        if sql not in self.known:
            self.known[sql] = self.engine.count(sql)
        return self.known[sql]

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _draw(plan: Plan, engine: Engine, random: Randomness) -> Draw:
    keys = [column.name for column, _ in plan.question.keys]

    def drawn(runs: int) -> list[object]:
        return [_shown(answer(plan, engine, random, _as_released), keys) for _ in range(runs)]

    return drawn


def _as_released(_: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    return tables["released"]


def _shown(release: Release, keys: list[str]) -> object:
    """The measures of each group and where their intervals end, under its key."""
    cells = release.table.to_pydict()
    groups = list(zip(*(cells[key] for key in keys), strict=True)) if keys else [()]
    measures = [cells[name] for name in release.table.column_names if name not in keys]
    measures += [high for _, high in release.intervals.values()]
    return {group: [each[place] for each in measures] for place, group in enumerate(groups)}


def _furthest(scratch: Scratch, plan: Plan, pairs: Iterator[Neighbours], enough: float) -> Neighbours:
    best, furthest = None, -1.0
    for pair in itertools.islice(pairs, PAIRS):
        with scratch.engine(pair.here) as here, scratch.engine(pair.there) as there:
            reach = _reach(plan, here, there)
        if reach > furthest:
            best, furthest = pair, reach
        if reach >= NEARLY * enough:
            break
    assert best is not None
    return best


def _reach(plan: Plan, here: Engine, there: Engine) -> float:
    """How far apart the exact counts are, each in units of its noise."""
    total = sum(
        _weight(vector) * _distance(plan.statement, name, plan, here, there)
        for name, vector in plan.vectors.items()
    )
    for counted in plan.counted.values():
        total += _distance(counted.statement, "n", plan, here, there)
    return total


def _weight(vector: Vector) -> float:
    noise = vector.noise
    return float(noise.rate) if isinstance(noise, DiscreteLaplace) else float(noise.variance) ** -0.5


def _distance(statement: str, name: str, plan: Plan, here: Engine, there: Engine) -> float:
    keys = {column.name for column, _ in plan.question.keys} | {"v"}
    sides = [_by_key(engine.count(statement).secret, name, keys) for engine in (here, there)]
    return float(sum(abs(sides[0].get(key, 0) - sides[1].get(key, 0)) for key in {*sides[0], *sides[1]}))


def _by_key(table: pa.Table, name: str, keys: set[str]) -> dict[tuple[object, ...], int]:
    rows = table.to_pylist()
    return {tuple(row[key] for key in row if key in keys): int(row[name] or 0) for row in rows}
