"""A charged release: what follows a reservation, in the one order that keeps the ledger true.

    engine counts → mechanisms → settle

The charge stays whatever happens. A fault shows a constant text and suspends the analyst until the custodian
clears it; so does a release that comes too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from discreet.accounting.entries import Entry
from discreet.accounting.ledger import Ledger
from discreet.core.engine_faults import log_fault, run_charged
from discreet.core.errors import EngineFault, RequestError
from discreet.services.budget_units import build_budget_refusal
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.least_purchase import find_measurements
from discreet.services.measurement_store import KIND, MeasurementStore
from discreet.services.plans import Plan, list_errors
from discreet.services.work_limits import LateResult
from discreet.sql.releases import MeasuredCores

T = TypeVar("T")


def release_and_settle(
    ledger: Ledger,
    entry: Entry,
    compute: Callable[[], T | LateResult[T]],
    serialize: Callable[[T], bytes],
    metadata: Mapping[str, object] | None = None,
) -> tuple[T, Entry]:
    """Return what `compute` releases under a reserved entry, and the settled entry that stores its bytes."""
    try:
        released = _compute_charged(ledger, entry, compute)
        if isinstance(released, LateResult):
            # Suspend before settling, so that a process killed in between leaves the analyst suspended.
            ledger.suspend(entry.analyst, log_fault(TimeoutError("the answer left late")).incident)
            released = released.value
        return released, ledger.settle(entry, serialize(released), metadata)
    finally:
        ledger.abandon(entry)


def _compute_charged(
    ledger: Ledger, entry: Entry, compute: Callable[[], T | LateResult[T]]
) -> T | LateResult[T]:
    try:
        return run_charged(compute)
    except EngineFault as fault:
        ledger.record_fault(entry, fault.incident)
        raise


def release_missing(
    ledger: Ledger,
    store: MeasurementStore,
    proposal: Plan,
    found: FoundMeasurements,
    compute: Callable[[FoundMeasurements], MeasuredCores | LateResult[MeasuredCores]],
) -> tuple[FoundMeasurements, MeasuredCores | None, Entry | None]:
    """Charge and release what a plan lacks; return what is stored, what was released now, and its entry.

    Nothing is released, and nothing charged, if another thread or process released it all meanwhile.
    """
    plan = proposal.query_plan
    try:
        while (reserved := store.reserve(plan, found, proposal.text)) is None:
            found = find_measurements(store, proposal)
            if not found.missing:
                return found, None, None
    except RequestError as refusal:
        raise build_budget_refusal(
            ledger,
            store.index.analyst,
            "ask",
            refusal,
            plan.compute_charge(found.missing)[1],
            lambda epsilon: proposal.plan_at(epsilon).guarantee,
            lambda epsilon: list_errors(proposal.plan_at(epsilon)),
        ) from None
    measured, entry = release_and_settle(
        ledger,
        reserved,
        lambda: compute(found),
        lambda released: store.index_and_serialize(plan, found, released, reserved),
        {"kind": KIND},
    )
    return store.constants.fill_released(plan, found, measured), measured, entry
