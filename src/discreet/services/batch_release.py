"""Release what a batch of questions lacks: one entry, and nothing if the whole does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.accounting.entries import Entry
from discreet.accounting.ledger import Ledger
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.services.budget_units import build_budget_refusal
from discreet.services.charged_release import release_and_settle
from discreet.services.measurement_store import KIND, MeasurementStore
from discreet.services.plan_batches import BatchPart, PlanBatch, combine_parts, divide_measurements
from discreet.sql.plan_execution import measure_cores
from discreet.sql.planner import combine_guarantees
from discreet.sql.releases import MeasuredCores


def release_batch(
    ledger: Ledger, store: MeasurementStore, batch: PlanBatch, engine: Engine, random: Randomness
) -> tuple[BatchPart, ...]:
    """Charge and release what a batch lacks; return what was measured for each of its questions.

    What compares rows with an answer is left: it is measured with its own question, afterwards. Refuse all
    of it, before anything is charged, if it costs more than is left, or more than was planned.
    """
    while True:
        parts = divide_measurements(batch.plans, store)
        _require_room(ledger, store.index.analyst, batch, parts)
        wanted = [(each.found, each.names) for each in parts if each.names]
        guarantees = [each.plan.query_plan.compute_charge(each.names)[1] for each in parts if each.names]
        if not wanted:
            return parts
        joint = combine_guarantees(guarantees, batch.plans[0].query_plan.promise)
        reserved = store.reserve_several(wanted, joint, batch.text)
        if reserved is None:
            continue  # some of it has been released meanwhile

        def compute(parts: tuple[BatchPart, ...] = parts) -> list[MeasuredCores]:
            return [_measure_part(each, engine, random) for each in parts]

        def serialize(
            released: Sequence[MeasuredCores],
            parts: tuple[BatchPart, ...] = parts,
            reserved: Entry = reserved,
        ) -> bytes:
            found = [each.found for each in parts]
            for each in parts:
                store.constants.note_values(each.plan.query_plan, each.found, reserved)
            return store.serialize([*zip(found, released, strict=True)])

        release_and_settle(ledger, reserved, compute, serialize, {"kind": KIND})
        return parts


def _measure_part(part: BatchPart, engine: Engine, random: Randomness) -> MeasuredCores:
    return measure_cores(part.found.fill_plan(part.plan.query_plan), engine, random, part.names)


def _require_room(ledger: Ledger, analyst: str, batch: PlanBatch, parts: Sequence[BatchPart]) -> None:
    """Refuse a batch whose parts together cost more than is left, or more than was planned."""
    guarantee = combine_parts(parts)
    if guarantee is None:
        return
    if sum((each.charge[0] for each in parts), Fraction(0)) > sum(batch.charges):
        raise RequestError("ask: the questions cost more than was planned.", hint="Plan them again.")
    _, charge = ledger.price_guarantee(guarantee)
    try:
        ledger.read(lambda transaction: transaction.accounts.check_budget(analyst, charge))
    except RequestError as refusal:
        raise build_budget_refusal(ledger, analyst, "ask", refusal, guarantee) from None
