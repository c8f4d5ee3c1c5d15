"""The measurement store: what was measured for an analyst is never charged to that analyst again.

Stored      Each ledger entry of a question keeps what it released: for every group the noisy integers, as
            they were released and with their noise, and selected values. Whatever a question makes of them
            is computed anew, and is free.
Identity    A measurement is found by `sql.measurement_identity`, the version of the data, and the entries of
            the policy that it reads: adding a column or an analyst to the policy changes no other identity.
Good enough A stored measurement serves if its noise is no wider than the planned one, and the answer states
            the error of what serves. What is missing is charged, and nothing else.
Undeclared  Where partition selection chooses the groups, everything of a question comes from one entry: other
            entries chose other groups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.accounting.entries import Entry
from discreet.accounting.measurement_index import MeasurementIndex
from discreet.core.policy import Policy
from discreet.mechanisms.sampling import Integers
from discreet.services.answer_cache import build_damaged_ledger_error
from discreet.services.bounded_cache import BoundedCache
from discreet.services.policy_version import compute_policy_version
from discreet.services.stored_measurements import Keys, StoredMeasurements, parse_entry, serialize_cores
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.measurement_identity import MeasurementIdentity
from discreet.sql.plan_execution import MeasuredCore, MeasuredCores
from discreet.sql.planner import CorePlan, QueryPlan

KIND = "measurements"
"""The kind of a stored answer, in the metadata of its entry."""
MAX_CACHED_ENTRIES = 64
SLACK = 1 + 1e-9  # equal noise whose variance was rounded differently


class Reuse(StrEnum):
    """How far a question uses the store: what is as precise as it asks, anything, or nothing."""

    PRECISE = "precise"
    ANY = "any"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True)
class FoundMeasurements:
    """The stored measurements that serve a plan, by name, and the names of those that are missing."""

    cores: tuple[CorePlan, ...]
    identities: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, StoredMeasurements]
    missing: tuple[str, ...]
    known_entries: frozenset[int] = frozenset()
    """The ids of all entries that released a missing measurement, with wider noise."""

    @property
    def entries(self) -> tuple[int, ...]:
        """The numbers of the entries that serve."""
        return tuple(sorted({each.entry for each in self.stored.values()}))

    def apply_noise(self, plan: QueryPlan, policy: Policy, question: str) -> QueryPlan:
        """Return the plan with the noise that stored measurements have, so that it states their errors.

        An earlier answer that was another question showed them, and may be why this one is asked.
        """
        cores = tuple(self._apply_core_noise(core, policy) for core in plan.cores)
        was_shown = any(each.question != question for each in self.stored.values())
        return replace(plan, cores=cores, was_shown=was_shown)

    def _apply_core_noise(self, core: CorePlan, policy: Policy) -> CorePlan:
        noisy, selections = dict(core.noisy_primitives), dict(core.value_selections)
        for name in core.charged_names:
            if name not in self.stored:
                continue
            stored, identity = self.stored[name], self.identities[name]
            if name in noisy:
                noisy[name] = noisy[name].restate(stored.primitives[identity])
            else:
                selections[name] = core.replan_selection(name, stored.epsilons[identity], policy)
        return replace(core, noisy_primitives=noisy, value_selections=selections)

    @property
    def sources(self) -> tuple[tuple[str, int], ...]:
        """The entry that serves for each measurement."""
        return tuple((name, each.entry) for name, each in self.stored.items())

    def combine(self, measured: MeasuredCores) -> dict[str, MeasuredCore]:
        """Return everything that the plan needs: for each core, over the groups in the order of its keys."""
        return {core.table: self._combine_core(core, measured.get(core.table)) for core in self.cores}

    def _combine_core(self, core: CorePlan, measured: MeasuredCore | None) -> MeasuredCore:
        stored = {name: each for name, each in self.stored.items() if name in core.charged_names}
        parts = list({id(each): each for each in stored.values()}.values())
        keys = _order_keys(core, parts[0]) if measured is None else measured.keys
        primitives = {} if measured is None else dict(measured.primitives)
        selected = {} if measured is None else dict(measured.selected_values)
        for part in parts:
            places = _find_places(_rename_keys(core, part), keys)
            for name in [name for name, each in stored.items() if each is part]:
                identity = self.identities[name]
                if identity in part.primitives:
                    primitives[name] = _take_numbers(part.primitives[identity], places)
                else:
                    values = part.selected_values[identity]
                    selected[name] = values if places is None else values.take(pa.array(places))
        return MeasuredCore(keys=keys, primitives=primitives, selected_values=selected)


def _rename_keys(core: CorePlan, part: StoredMeasurements) -> dict[str, pa.ChunkedArray]:
    return {name: part.keys[identity] for name, identity in core.identity.key_identities.items()}


def _order_keys(core: CorePlan, part: StoredMeasurements) -> dict[str, pa.ChunkedArray]:
    """Return the keys in the order of the plan, whatever the order was when they were measured."""
    renamed = _rename_keys(core, part)
    written = tuple(core.identity.key_identities.values())
    if written == tuple(part.keys) or not renamed:
        return renamed
    ranks = {
        name: pc.index_in(values, pa.array(core.key_orders[name], values.type))
        if name in core.key_orders
        else values
        for name, values in renamed.items()
    }
    places = pc.sort_indices(pa.table(ranks), [(name, "ascending") for name in ranks])
    return {name: values.take(places) for name, values in renamed.items()}


@dataclass(frozen=True, kw_only=True)
class MeasurementStore:
    """The stored measurements of one analyst under one policy and version of the data."""

    index: MeasurementIndex
    policy: Policy
    _entries: BoundedCache[int, tuple[StoredMeasurements, ...]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_ENTRIES), repr=False
    )
    _versions: dict[str, str] = field(default_factory=dict, repr=False)

    def find(self, plan: QueryPlan, reuse: Reuse = Reuse.PRECISE) -> FoundMeasurements:
        """Return what is stored for a plan, and what is missing."""
        identities = {
            name: self._complete(each) for core in plan.cores for name, each in core.identities.items()
        }
        entries: dict[str, list[int]] = {}
        for identity, entry in self.index.find(set(identities.values())) if identities else []:
            entries.setdefault(identity, []).append(entry)
        stored: dict[str, StoredMeasurements] = {}
        for core in plan.cores if reuse is not Reuse.NOTHING else ():
            own = {name: identities[name] for name in core.charged_names}
            if core.partition_selection is not None:
                stored |= self._find_one_entry(core, own, entries, reuse)
                continue
            for name, identity in own.items():
                best = self._find_best(core, name, identity, entries.get(identity, []), reuse)
                if best is not None:
                    stored[name] = best
        missing = tuple(name for name in identities if name not in stored)
        known = {entry for name in missing for entry in entries.get(identities[name], [])}
        return FoundMeasurements(
            cores=plan.cores,
            identities=identities,
            stored=stored,
            missing=missing,
            known_entries=frozenset(known),
        )

    def reserve(self, plan: QueryPlan, found: FoundMeasurements, text: str) -> Entry | None:
        """Charge what is missing; None if some of it has been released meanwhile, and is to be found."""
        # two cores of one statement may be the same in other words
        missing = sorted({found.identities[name] for name in found.missing})
        _, guarantee = plan.compute_charge(found.missing)
        key = hashlib.sha256(repr((KIND, missing, guarantee)).encode()).hexdigest()
        return self.index.reserve(key, text, guarantee, identities=missing, known=found.known_entries)

    def serialize(self, found: FoundMeasurements, measured: MeasuredCores) -> bytes:
        """Return what was measured as the bytes that its entry stores."""
        return serialize_cores(
            [(core, found.identities, measured[core.table]) for core in found.cores if core.table in measured]
        )

    def _complete(self, identity: MeasurementIdentity) -> str:
        """Return an identity with the version of the data, and of what it reads of the policy."""
        return hashlib.sha256(
            f"{identity.text}:{self._compute_version(identity.tables)}:{self.policy.data_version}".encode()
        ).hexdigest()

    def _compute_version(self, tables: Mapping[str, Collection[str]]) -> str:
        key = repr(sorted((table, sorted(columns)) for table, columns in tables.items()))
        if key not in self._versions:
            self._versions[key] = compute_policy_version(select_read_entries(self.policy, tables))
        return self._versions[key]

    def _find_best(
        self, core: CorePlan, name: str, identity: str, entries: Sequence[int], reuse: Reuse
    ) -> StoredMeasurements | None:
        """Return the stored measurement with the least noise; None if that is wider than allowed."""

        def rank(each: StoredMeasurements) -> float:
            if identity in each.primitives:
                return float(each.primitives[identity].noise.variance)
            return 1 / float(each.epsilons[identity])

        if name in core.value_selections:
            planned = 1 / float(core.value_selections[name].guarantee.epsilon)
        else:
            planned = float(core.noisy_primitives[name].noise.variance)
        found = [each for entry in entries for each in self._load(entry) if each.has(identity)]
        best = min(found, key=rank, default=None)
        if best is None or reuse is Reuse.ANY:
            return best
        return best if rank(best) <= planned * SLACK else None

    def _find_one_entry(
        self,
        core: CorePlan,
        identities: Mapping[str, str],
        entries: Mapping[str, Sequence[int]],
        reuse: Reuse,
    ) -> dict[str, StoredMeasurements]:
        """Return one entry for all measurements, or nothing."""
        lists = [set(entries.get(identity, ())) for identity in identities.values()]
        for entry in sorted(set.intersection(*lists)) if lists else []:
            serves = {
                name: self._find_best(core, name, identity, [entry], reuse)
                for name, identity in identities.items()
            }
            if all(each is not None for each in serves.values()):
                return {name: each for name, each in serves.items() if each is not None}
        return {}

    def _load(self, entry: int) -> tuple[StoredMeasurements, ...]:
        """Return what an entry released, of each core."""

        def read() -> tuple[StoredMeasurements, ...]:
            stored = self.index.get_answer(entry)
            return parse_entry(stored.answer, stored.entry)

        return self._entries.get_or_compute(entry, read)


def select_read_entries(policy: Policy, tables: Mapping[str, Collection[str]]) -> Policy:
    """Return the part of a policy that a measurement reads: some columns of some tables.

    The columns that name people and link tables are a part of every table.
    """
    read = {}
    for name, columns in tables.items():
        table = policy.tables[name]
        kept = {*columns, *table.links, *([table.person_column] if table.person_column else [])}
        own = {column: entry for column, entry in table.columns.items() if column in kept}
        read[name] = table.model_copy(update={"columns": own})
    return policy.model_copy(update={"tables": read, "hierarchies": {}})


# -- Groups in one order ------------------------------------------------------------------------------------


def _find_places(keys: Keys, wanted: Keys) -> Integers | None:
    """Return the rows of `keys` in the order of `wanted`; None if they are in that order already."""
    if all(keys[name].equals(wanted[name]) for name in wanted):
        return None
    rows = zip(*(keys[name].to_pylist() for name in wanted), strict=True)
    places = {key: place for place, key in enumerate(rows)}
    try:
        found = [places[key] for key in zip(*(each.to_pylist() for each in wanted.values()), strict=True)]
    except KeyError:
        raise build_damaged_ledger_error() from None
    return np.array(found, dtype=np.int64)


def _take_numbers(released: ReleasedPrimitive, places: Integers | None) -> ReleasedPrimitive:
    if places is None:
        return released
    return ReleasedPrimitive(
        numbers=released.numbers[places],
        noise=released.noise,
        weight_denominator=released.weight_denominator,
    )
