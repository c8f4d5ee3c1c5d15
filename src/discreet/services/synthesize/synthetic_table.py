"""Synthesis of a table: planned, charged like a question, and stored.

Budget      epsilon is for the promise's secret: pure under a promise without a tail; with a delta, under a
            promise with a tail, the noise is Gaussian.
Earlier     answers that the rows must be consistent with, by ledger entry. Eligible are an analyst's own
            answers, or those of all analysts who share answers, that count all rows of the table by
            synthesized columns, as in SELECT city, COUNT(*) FROM people GROUP BY city; answers with filters,
            limits or computed columns are not tables of counts. A table of `tabulate` is eligible where it is
            the measurement of such a question (`count_measurements`). All are treated as exact up to
            rounding, and cost nothing again.
NULLs       if a column may be NULL and NULL is not one of its declared groups, an earlier answer does not
            cover rows without a value; those cells are unconstrained.
Repeats     the same request of the same analyst returns the same rows at no cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from discreet.accounting.entries import Entry, EntryState
from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.core.sql_quoting import quote_identifier
from discreet.mining.attributes import Attribute
from discreet.mining.synthesis import EarlierAnswer, SynthesisPlan, plan_synthesis, synthesize
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.services.answer_cache import answer_from_bytes, table_from_bytes, table_to_bytes
from discreet.services.curator import Curator
from discreet.services.measurement_store import KIND
from discreet.services.progress import ProgressCallback
from discreet.services.stored_releases import (
    release_or_replay,
    require_min_epsilon,
    resolve_epsilon,
)
from discreet.services.synthesize.synthesize_request import ALL, SynthesizeRequest
from discreet.services.synthesize.synthetic_results import SyntheticTable
from discreet.sql.aggregates.count import Count
from discreet.sql.expression_tree import Column
from discreet.sql.query import Query
from discreet.sql.query_parser import parse_query
from discreet.sql.relational_algebra import Scan
from discreet.sql.resolver import resolve_query

COUNT = Count()


def _get_epsilon(curator: Curator, request: SynthesizeRequest) -> Real:
    """Return the request's epsilon, or that of its promise with the curator's secret and group."""
    secret, group = curator.promise.secret, curator.promise.group
    epsilon = (
        resolve_epsilon(curator, request.epsilon, "synthesize")
        if request.promise is None
        else Promise(*request.promise, secret=secret, group=group).epsilon
    )
    require_min_epsilon("synthesize", epsilon)
    return epsilon


def plan_synthetic(curator: Curator, request: SynthesizeRequest) -> SynthesisPlan:
    """Return the plan: measurements, guarantee and expected error; reads no data."""
    return _plan_with_entries(curator, request)[0]


def _plan_with_entries(
    curator: Curator, request: SynthesizeRequest
) -> tuple[SynthesisPlan, tuple[Entry, ...]]:
    """Return the plan, and the ledger entries that it is consistent with."""
    epsilon = _get_epsilon(curator, request)
    budget = NoiseBudget.from_epsilon(epsilon=epsilon, delta=request.delta, relation=curator.promise.secret)

    def make_plan(earlier: Sequence[EarlierAnswer] = ()) -> SynthesisPlan:
        return plan_synthesis(
            curator.policy,
            request.table,
            budget.guarantee,
            quality=request.quality,
            columns=request.columns,
            logarithmic=request.logarithmic,
            earlier=earlier,
        )

    first = make_plan()
    if not request.earlier:
        return first, ()
    entries = find_eligible_entries(curator, first, request.earlier)
    return make_plan([read_earlier_answer(curator, first, each) for each in entries]), tuple(entries)


def synthesize_table(
    curator: Curator, request: SynthesizeRequest, report_progress: ProgressCallback
) -> SyntheticTable:
    """Charge and synthesize the rows; the charge precedes any read of data."""
    (made, earlier), epsilon = _plan_with_entries(curator, request), _get_epsilon(curator, request)
    agreed = {"earlier": [each.number for each in earlier]}

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        def report_share(share: float) -> None:
            report_progress("synthesizing", share)

        return synthesize(made, curator.policy, engine, random, progress=report_share).table

    found = release_or_replay(
        curator,
        "synthesize",
        f"synthesize {request.table} --quality {request.quality}",
        request.model_dump(include=set(SynthesizeRequest.model_fields))
        | {"epsilon": epsilon, "promise": None}
        | agreed,
        made.guarantee,
        compute_rows,
        serialize=table_to_bytes,
        deserialize=table_from_bytes,
    )
    return SyntheticTable(
        plan=made,
        table=found.release,
        epsilon=epsilon,
        delta=request.delta,
        entry=found.entry,
        repeated=found.repeated,
        sentence=curator.ledger.describe_belief(analyst=curator.belief_scope),
        earlier=earlier,
    )


def find_eligible_entries(
    curator: Curator, plan: SynthesisPlan, requested: Sequence[int] | Literal["all"]
) -> list[Entry]:
    """Return the named entries, or all eligible ones; raise RequestError if a named one is not eligible."""
    entries = curator.ledger.list_entries(None if curator.policy.share_answers else curator.analyst)
    settled = {each.number: each for each in entries if each.state is EntryState.SETTLED}
    if requested == ALL:
        fitting = [each for each in settled.values() if _map_columns(curator, plan, each) is not None]
        if not fitting:
            raise RequestError(
                f"synthesize: no answer to {curator.analyst} is a table of counts by columns that are "
                "synthesized.",
                hint="Leave `earlier=` out.",
            )
        return fitting
    for number in requested:
        if number not in settled:
            raise RequestError(
                f"synthesize: {curator.analyst} has no answer in entry {number}.",
                hint=f"`discreet ledger --analyst {curator.analyst}` lists them.",
            )
        if _map_columns(curator, plan, settled[number]) is None:
            raise RequestError(
                f"synthesize: entry {number} is not a table of counts by columns that are synthesized.",
                hint="Name answers such as SELECT a, b, COUNT(*) FROM t GROUP BY a, b, or `earlier=all`.",
            )
    return [settled[number] for number in dict.fromkeys(requested)]


def read_earlier_answer(curator: Curator, plan: SynthesisPlan, entry: Entry) -> EarlierAnswer:
    """Return the answer of an entry as counts over bins."""
    keys = _map_columns(curator, plan, entry)
    assert keys is not None
    stored = curator.measurement_store.index.get_answer(entry.id)
    if stored.metadata.get("kind") == KIND:
        table = curator.ask(entry.question, free=True, raw=True).table
    elif (question := _write_table_question(entry)) is not None:
        table = curator.ask(question, free=True, raw=True).table
    else:
        table, _, _ = answer_from_bytes(stored.answer)  # an answer of an earlier version
    *names, count = keys
    attributes = [_get_attribute(plan, keys[name]) for name in names]
    return EarlierAnswer(
        columns=tuple(each.name for each in attributes), counts=_sum_counts(table, names, count, attributes)
    )


def _sum_counts(
    table: pa.Table, names: Sequence[str], count: str, attributes: Sequence[Attribute]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the counts summed over the values of each bin; NaN if the answer covers no value of the bin."""
    at = tuple(
        each.encode(table.column(name).to_pylist()).astype(np.int64)
        for each, name in zip(attributes, names, strict=True)
    )
    shape = tuple(each.bins for each in attributes)
    sums, told = np.zeros(shape), np.zeros(shape, np.int64)
    np.add.at(sums, at, table.column(count).to_numpy().astype(np.float64))
    np.add.at(told, at, 1)
    return np.where(told > 0, sums, np.nan)


def _map_columns(curator: Curator, plan: SynthesisPlan, entry: Entry) -> Mapping[str, str] | None:
    """Return the table's column for each answer column, the count last; None if the entry is not eligible."""
    table_question = _write_table_question(entry)
    try:
        question = resolve_query(parse_query(table_question or entry.question), curator.policy)
        if table_question is not None:
            curator.plan(table_question, free=True)
    except RequestError:  # a model, a question of another policy, or a table that is no measurement
        return None
    whole = isinstance(question.rows, Scan) and question.rows.table == plan.table
    if not whole or not question.keys or not _has_all_groups(question):
        return None
    columns = {key.name: of.name.split(".", 1)[1] for key, of in question.keys if isinstance(of, Column)}
    counts = {column.name for column, measure in question.measures if measure == COUNT}
    shown = {
        of.name: name for name, of in reversed(question.post_processing[0].outputs) if isinstance(of, Column)
    }
    synthesized = {each.name for each in plan.schema.attributes}
    fits = len(columns) == len(question.keys) and set(columns.values()) <= synthesized
    told = [name for name in shown if name in counts]
    if not fits or not told or not set(columns) <= set(shown):
        return None
    return {shown[key]: of for key, of in columns.items()} | {shown[told[0]]: ""}


def _write_table_question(entry: Entry) -> str | None:
    """Return the question whose measurement a table of counts may be; None for other entries."""
    verb, _, rest = entry.question.partition(" ")
    table, option, columns = rest.partition(" --columns ")
    if verb != "tabulate" or not option:
        return None
    names = ", ".join(map(quote_identifier, columns.split(",")))
    return f"SELECT {names}, COUNT(*) AS n FROM {quote_identifier(table)} GROUP BY {names}"


def _has_all_groups(question: Query) -> bool:
    """Return True if the answer has all groups, without HAVING, LIMIT or totals."""
    after = question.post_processing[0]
    return (
        len(question.post_processing) == 1
        and after.having is None
        and after.limit is None
        and not after.totals
    )


def _get_attribute(plan: SynthesisPlan, name: str) -> Attribute:
    return next(each for each in plan.schema.attributes if each.name == name)
