"""What sessions of exploration cost: four sessions of BI tools and notebooks under four ways of answering.

Sessions    `benchmarks/sessions/*.sql`, one statement per `;`, asked in their order by one analyst. Two are
            about the sample tables, two about UCI Adult. They were written before the measurement store.
Equal error every statement wants the errors that a fresh answer at `EPSILON` has, split over its measures by
            the product's own rule. An answer from a cache must be no worse; ours is asked with `EPSILON` as
            the most to spend. Columns of our answers whose printed interval is wider than the plan of a fresh
            answer states are counted, and should be none.
Fresh       every statement is charged `EPSILON`.
Exact match a statement is charged unless the same text, up to whitespace, was asked before.
PMW         `benchmarks.pmw_cache`, the mean of `RUNS` runs at the best threshold. It is worse than exact
            matches where a session is too short to pay for its checks, and then it is shown worse.
Ours        what the ledger of a `Curator` was charged.
Compared    the statements that the product answers. What it refuses is listed and left out of every total.
            Probes of the schema (LIMIT 0, WHERE FALSE, values of a column) read no rows: they are free in all
            strategies but ours, which is charged what it charges.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp as sql

from benchmarks import mining
from benchmarks.new_measurements import count_new
from benchmarks.peers import uci_adult
from benchmarks.peers.environments import Progress
from benchmarks.pmw_cache import Cells, CountQuery, PMWCache, choose_columns, find_count_queries
from discreet.accounting.ledger_storage import MEMORY
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP
from discreet.core.policy import Policy, PromiseTerms
from discreet.core.table_entry import Table as TableEntry
from discreet.services import sample
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from discreet.services.plans import Plan
from discreet.services.policies import load_policy

FOLDER = Path(__file__).with_name("sessions")
CHARGES = FOLDER / "charges.json"
EPSILON = 0.1
RUNS = 5
THRESHOLDS = (1, 2, 3, 5)
ROOM = PromiseTerms(prior=1e-9, posterior=1 - 1e-9)  # keeps no promise to anybody, so that nothing is refused
TABLES = {
    "hospital_dashboard": "hospital",
    "census_notebook": "census",
    "adult_tableau": "adult",
    "adult_study": "adult",
}
PICKS = (sql.Median, sql.PercentileCont, sql.PercentileDisc, sql.Quantile)
HEADINGS = (
    "session",
    "statements (refused, probes)",
    "fresh, ε",
    "exact match, ε",
    "PMW, ε",
    "ours, ε",
    "fresh ÷ ours",
    "exact match ÷ ours",
)
ABOUT = (
    "Four sessions in the SQL of Superset, Metabase, Tableau, Power BI and notebooks "
    "(`benchmarks/sessions/`), the total ε over the statements that are answered, at equal error: each "
    f"answer is as precise as a fresh one at ε = {EPSILON:g}. PMW is a cache in the manner of Turbo's "
    "PMW-Bypass, with assumptions in its favour (`benchmarks/pmw_cache.py`). Bar: fresh ÷ ours at least 5, "
    "exact match ÷ ours at least 2."
)


def read_statements(session: str) -> list[str]:
    """Return the statements of a session as they were written, without comments."""
    text = (FOLDER / f"{session}.sql").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [" ".join(each.split()) for each in "\n".join(lines).split(";") if each.strip()]


def reads_no_rows(statement: str) -> bool:
    """Return whether a statement asks for columns or declared values only: LIMIT 0, FALSE, no aggregate."""
    parsed = sqlglot.parse_one(statement, read="duckdb")
    limit, where = parsed.args.get("limit"), parsed.args.get("where")
    if limit is not None and limit.expression.name == "0":
        return True
    if where is not None and where.this.unnest().sql("duckdb").upper() in {"FALSE", "1 = 0"}:
        return True
    return parsed.find(sql.AggFunc) is None


# -- Ours ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What one statement was charged by the product; None and the reason where it was refused."""

    statement: str
    ours: float | None
    refusal: str = ""
    wider: tuple[str, ...] = ()


def ask_session(policy: Policy, statements: list[str]) -> list[Charge]:
    """Ask the statements of one curator in their order; a second one states the errors of fresh answers."""
    with Curator.open_policy(policy) as curator, Curator.open_policy(policy) as unasked:
        return [_ask(curator, unasked, each) for each in statements]


def _ask(curator: Curator, unasked: Curator, statement: str) -> Charge:
    before = _get_spent(curator)
    try:
        fresh = unasked.plan(statement, epsilon=EPSILON)
        answer = curator.ask(statement, epsilon=EPSILON)
    except RequestError as refusal:
        return Charge(statement=statement, ours=None, refusal=refusal.message)
    return Charge(
        statement=statement, ours=_get_spent(curator) - before, wider=tuple(_find_wider(answer, fresh))
    )


def _get_spent(curator: Curator) -> float:
    spent = curator.budget.spent
    assert isinstance(spent, PureDP)
    return float(spent.epsilon)


def _find_wider(answer: Answer, fresh: Plan) -> Iterator[str]:
    """Yield the columns whose interval is wider than that of a fresh answer."""
    planned = {each.name: each.error95 for each in fresh.expected_errors if each.error95 is not None}
    for name, (low, high) in answer.intervals.items():
        widths = [b - a for a, b in zip(low, high, strict=True) if a is not None and b is not None]
        if name in planned and widths and max(widths) / 2 > 1.001 * planned[name]:
            yield name


# -- The others ----------------------------------------------------------------------------------------------


def charge_exact_matches(statements: list[str]) -> list[float]:
    """Return the charges where only the same text is free."""
    asked: set[str] = set()
    charges = []
    for each in statements:
        charges.append(0.0 if each in asked or reads_no_rows(each) else EPSILON)
        asked.add(each)
    return charges


def charge_pmw(policy: Policy, table: str, data: pa.Table, statements: list[str]) -> float:
    """Return the total of the PMW cache: the mean of some runs, at the threshold that is best for it.

    A threshold that no cell reaches would make it a cache of exact matches; that is left to its own column.
    """
    read = [each for each in statements if not reads_no_rows(each)]
    queries = [find_count_queries(each, table) for each in read]
    domains = get_domains(policy, table)
    chosen = choose_columns([each for found in queries if found for each in found], domains)
    cells = Cells(data, table, {name: domains[name] for name in chosen})
    rows = policy.tables[table].rows_per_person or 1
    return min(
        float(np.mean([_run_pmw(cells, read, queries, threshold, seed, rows=rows) for seed in range(RUNS)]))
        for threshold in THRESHOLDS
    )


def _run_pmw(
    cells: Cells,
    statements: list[str],
    queries: list[list[CountQuery] | None],
    threshold: int,
    seed: int,
    *,
    rows: int,
) -> float:
    cache = PMWCache(
        cells=cells,
        epsilon=EPSILON,
        sensitivity=2 * rows,  # the value of a person's rows may change: each leaves one group for another
        threshold=threshold,
        random=np.random.default_rng(seed),
    )
    return sum(cache.answer(each, found) for each, found in zip(statements, queries, strict=True))


def get_domains(policy: Policy, table: str) -> dict[str, list[object]]:
    """Return the declared values of each column of a table."""
    found: dict[str, list[object]] = {}
    for name, column in policy.tables[table].columns.items():
        low, high = column.low, column.high
        if column.values:
            found[name] = list(column.values)
        elif isinstance(low, int) and isinstance(high, int):
            found[name] = list(range(low, high + 1))
        elif isinstance(low, date) and isinstance(high, date):
            found[name] = [low + timedelta(days=day) for day in range((high - low).days + 1)]
    return found


# -- The report ----------------------------------------------------------------------------------------------


@contextmanager
def open_data(session: str) -> Iterator[tuple[Policy, pa.Table]]:
    """Yield the policy of a session's table, and its rows as they are counted."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder, table = Path(name), TABLES[session]
        if table == "adult":
            place = mining.find_adult()
            if place is None:
                raise FileNotFoundError(
                    "There is no Adult data: set DISCREET_ADULT to a folder with adult.data."
                )
            data = _read_adult(place)
            pq.write_table(data, folder / "adult.parquet")
            policy = mining.policy(place, str(folder / "adult.parquet"))
        else:
            sample.write_samples(folder)
            policy, data = (
                load_policy(sample.write_policy(folder)),
                pq.read_table(folder / f"{table}.parquet"),
            )
        yield policy.model_copy(update={"promise": ROOM, "ledger": MEMORY}), _bound_rows(policy, table, data)


def _read_adult(folder: str) -> pa.Table:
    columns, income = uci_adult.rows(folder, "adult.data")
    whole = {name: np.asarray(columns[name], np.int64) for name in uci_adult.BOUNDS}
    return pa.table({**columns, **whole, "income": np.array(uci_adult.CLASSES)[income]})


def _bound_rows(policy: Policy, table: str, data: pa.Table) -> pa.Table:
    """Return at most so many rows of each person as the policy declares."""
    declared = policy.tables[table]
    if declared.person == "row":
        return data
    with duckdb.connect() as connection:
        connection.register("data", data)
        return connection.sql(
            f'SELECT * FROM data QUALIFY ROW_NUMBER() OVER (PARTITION BY "{declared.person}") '
            f"<= {declared.rows_per_person}"
        ).to_arrow_table()


def tables(progress: Progress) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return one row a session and the notes; write what each statement was charged to a file."""
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    charges: dict[str, object] = {}
    for session in TABLES:
        progress(f"asking {session} …")
        try:
            with open_data(session) as (policy, data):
                row, note, charges[session] = measure_session(session, policy, data)
        except FileNotFoundError as missing:
            return rows, [*notes, str(missing)]
        rows.append(row)
        notes.append(note)
    CHARGES.write_text(json.dumps(charges, indent=1, ensure_ascii=False) + "\n")
    return rows, notes


def measure_session(
    session: str, policy: Policy, data: pa.Table
) -> tuple[tuple[str, ...], str, list[dict[str, object]]]:
    """Return the row and the note of a session, and the charges of its statements."""
    statements = read_statements(session)
    ours = ask_session(policy, statements)
    answered = [each.statement for each in ours if each.ours is not None]
    probes = sum(reads_no_rows(each) for each in answered)
    matched = charge_exact_matches(answered)
    totals = (
        EPSILON * (len(answered) - probes),
        sum(matched),
        charge_pmw(policy, TABLES[session], data, answered),
        sum(each.ours or 0.0 for each in ours),
    )
    refused = len(statements) - len(answered)
    row = (
        session.replace("_", " "),
        f"{len(statements)} ({refused}, {probes})",
        *(f"{total:.2f}" for total in totals),
        f"{totals[0] / totals[3]:.2f}×",
        f"{totals[1] / totals[3]:.2f}×",
    )
    note = f"{_write_note(session, ours, answered)} {_explain_charges(ours, policy.tables[TABLES[session]])}"
    return row, note, [_describe(each) for each in ours]


def _write_note(session: str, ours: list[Charge], answered: list[str]) -> str:
    """Return what was refused, whether errors are equal, and the most that could be saved."""
    table, wider = TABLES[session], sum(bool(each.wider) for each in ours)
    every = [each.statement for each in ours if not reads_no_rows(each.statement)]
    new, apart = (count_new(every, table, derives=derives) for derives in (False, True))
    return (
        f"{session.replace('_', ' ')}: {len(ours) - len(answered)} refused (listed with their reasons in "
        f"`sessions/{CHARGES.name}`), {wider} answers with an interval wider than a fresh one's: they show "
        "cells that were seen before, and hold for all of these at once. Of its "
        f"{len(every)} statements that are no probe, {new} need a measurement that is new under any spelling "
        f"and {apart} one that no earlier ones add up to, at whatever error: against fresh answers, a store "
        f"that measures only what is asked saves about {len(every) / new:.2f}× by the first and at most "
        f"about {len(every) / apart:.2f}× by the second."
    )


def _explain_charges(ours: list[Charge], table: TableEntry) -> str:
    """Return what the statements are that were charged, which is why a session misses the bar."""
    charged = [sqlglot.parse_one(each.statement, read="duckdb") for each in ours if each.ours]
    picks = [each for each in charged if each.find(*PICKS) is not None]
    rest = [each for each in charged if each not in picks]
    single = [each for each in rest if each.find(sql.Group) is None]
    filtered = [each for each in rest if each not in single and each.find(sql.Where) is not None]
    rebounded = (
        f"{len(filtered)} have groups and a condition, after which the rows of a person are bounded anew, so "
        "that they are no cells of what was measured without it; "
        if table.person != "row"
        else ""
    )
    return (
        f"{len(charged)} statements were charged, which is why a bar is missed where it is: {len(single)} "
        "are single numbers, whose noise is half that of a group's, so that no cell is as precise; "
        f"{len(picks)} pick a value (MEDIAN, quantiles); {rebounded}the others have keys, conditions or "
        "measures that nothing stored has, or are sums of several cells, which have several times the "
        "variance of one."
    )


def _describe(charge: Charge) -> dict[str, object]:
    outcome = {"refused": charge.refusal} if charge.ours is None else {"epsilon": round(charge.ours, 9)}
    return {"statement": charge.statement, **outcome, **({"wider": charge.wider} if charge.wider else {})}
