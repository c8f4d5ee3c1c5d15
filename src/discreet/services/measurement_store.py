"""The measurement store: what was measured for an analyst is never charged to that analyst again.

Stored      Each ledger entry of a question keeps what it released: for every group the noisy integers, as
            they were released and with their noise, and selected values. Whatever a question makes of them
            is computed anew, and is free. So do tables of counts (`count_measurements`).
Identity    A measurement is found by `sql.measurement_identity`, the version of the data, and the entries of
            the policy that it reads: adding a column or an analyst to the policy changes no other identity.
Good enough A stored measurement serves if its noise is no wider than the planned one, and the answer states
            the error of what serves. What is missing is charged, and nothing else.
Means       Where the same was measured several times, or is measured again, the mean of all is used, if its
            interval is narrower at its share of beta than that of the best one alone. The choice depends on
            public laws alone. Selected values and undeclared groups have no mean.
Cells       A stored measurement by month and disease serves a question by quarter about one disease: see
            `sql.cell_maps`. Sums of several cells have more noise; they serve where their interval is as
            narrow as planned, and are combined with what is bought else. Which cells a question has shown is
            noted where it was not all of them: an analyst who saw cells may ask about one because of its
            noise, and error bars say so.
Constants   A statement that compares rows with an answer keeps the value that was released first
            (`stored_constants`).
Undeclared  Where partition selection chooses the groups, everything of a question comes from one entry: other
            entries chose other groups.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.accounting.entries import Entry
from discreet.accounting.measurement_index import MeasurementIndex
from discreet.core.guarantees import Guarantee
from discreet.core.policy import Policy
from discreet.services.bounded_cache import BoundedCache
from discreet.services.count_measurements import parse_counts
from discreet.services.derived_measurements import CellFinder, DerivedGroups, UsedCells, rank_groups
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.measurement_versions import MeasurementVersions
from discreet.services.question_request import Reuse
from discreet.services.stored_constants import StoredConstants
from discreet.services.stored_measurements import (
    ShownCells,
    StoredMeasurements,
    hash_question,
    parse_entry,
    serialize_cores,
)
from discreet.services.stored_precision import choose_means, is_mean_enough, is_precise
from discreet.sql.measurement_slices import SLACK, Pins
from discreet.sql.released_constants import find_open_constants
from discreet.sql.releases import MeasuredCores

if TYPE_CHECKING:
    from discreet.sql.core_planning import CorePlan
    from discreet.sql.planner import QueryPlan

KIND = "measurements"
"""The kind of a stored answer, in the metadata of its entry."""
MAX_CACHED_ENTRIES, MAX_CACHED_CHOICES = 64, 256


@dataclass(frozen=True, kw_only=True)
class MeasurementStore:
    """The stored measurements of one analyst under one policy and version of the data."""

    index: MeasurementIndex
    policy: Policy
    _entries: BoundedCache[int, tuple[StoredMeasurements, ...]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_ENTRIES), repr=False
    )
    _stated_plans: BoundedCache[Hashable, QueryPlan] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_CHOICES), repr=False
    )
    _choices: BoundedCache[Hashable, frozenset[str]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_CHOICES), repr=False
    )

    @cached_property
    def versions(self) -> MeasurementVersions:
        """The versions of what measurements read."""
        return MeasurementVersions(policy=self.policy)

    @cached_property
    def constants(self) -> StoredConstants:
        """The released values that rows are compared with."""
        return StoredConstants(policy=self.policy, index=self.index, versions=self.versions)

    @cached_property
    def cells(self) -> CellFinder:
        """The finder of stored measurements of whose cells others are made."""
        return CellFinder(policy=self.policy, index=self.index, versions=self.versions, load=self._load)

    def find(
        self,
        plan: QueryPlan,
        question: str,
        reuse: Reuse = Reuse.PRECISE,
        *,
        bought: Collection[str] = (),
    ) -> FoundMeasurements:
        """Return what is stored for a plan, and what is missing; the ledger records the `question`.

        What is `bought` is missing however precisely it is stored; it is combined with that. Constants of
        which everything is stored have values in what is found.
        """
        filled, found = plan, self._find(plan, question, reuse, bought)
        while filled.open_constants and (values := self.constants.compute_values(filled, found)):
            filled = filled.fill_constants(values, self.policy)
            found = self._find(filled, question, reuse, bought)
        if plan.open_constants and found.missing and not bought and reuse is not Reuse.NOTHING:
            for values in self.constants.list_former_values(plan):
                former = self._find(plan.fill_constants(values, self.policy), question, reuse, ())
                if not former.missing:
                    return former
        return found

    def _find(
        self, plan: QueryPlan, question: str, reuse: Reuse, bought: Collection[str]
    ) -> FoundMeasurements:
        identities = self.versions.complete_all(plan.cores)
        entries = self._find_entries(identities.values())
        alone: dict[str, tuple[StoredMeasurements, ...]] = {}
        several: dict[str, tuple[StoredMeasurements, ...]] = {}
        for core in plan.cores if reuse is not Reuse.NOTHING else ():
            own = {name: identities[name] for name in core.charged_names}
            if core.partition_selection is not None:
                if not {*own} & {*bought}:
                    alone |= self._find_one_entry(core, own, entries, reuse)
                continue
            for name, identity in own.items():
                known = self._list_stored(identity, entries.get(identity, []))
                best = self._find_best(core, name, identity, known, reuse)
                if best is not None and name not in bought:
                    alone[name] = (best,)
                if name in core.noisy_primitives and known:
                    several[name] = known
        for name in [each for each in several if each not in alone and each not in bought]:
            # together they may be as precise as what was planned
            if len(several[name]) > 1 and is_mean_enough(plan, name, several[name], identities[name]):
                alone[name] = several[name]
        open_cores = [
            each.core for each in plan.finer_cores.values() if {*each.core.charged_names} - {*alone}
        ]
        entries |= self._find_entries(self.versions.complete_all(open_cores).values())
        helping: dict[str, DerivedGroups] = {}
        if reuse is not Reuse.NOTHING:
            serving, helping = self._find_derived(
                plan, question, reuse, bought, alone=alone, several=several, identities=identities
            )
            cells = self._find_bought_cells(plan, reuse, {*alone, *bought}, identities, entries)
            self._keep_apart(plan, serving, cells)
            alone |= cells | {name: (each.rename(identities[name]),) for name, each in serving.items()}
        missing = tuple(name for name in identities if name not in alone)
        finer_cores = {
            table: finer
            for table, finer in plan.finer_cores.items()
            if {*finer.core.noisy_primitives} <= {*missing}
        }
        taken = {each.entry_id for parts in alone.values() for each in parts if each.choices}
        for finer in finer_cores.values():
            own = self.versions.complete_all([finer.core])
            identities |= own
            for name, each in own.items():
                free = [entry for entry in entries.get(each, []) if entry not in taken]
                several[name] = self._list_stored(each, free, finer.pins)
                taken |= {part.entry_id for part in several[name]}
        several |= {
            name: (each.rename(identities[name]),)
            for name, each in helping.items()
            if not several.get(name) and each.part.entry_id not in taken
        }
        found = FoundMeasurements(
            cores=plan.cores,
            identities=identities,
            stored=alone,
            missing=missing,
            known_entries=frozenset(each for name in missing for each in entries.get(identities[name], [])),
            finer_cores=finer_cores,
            constants=plan.constants,
        )
        return self._prefer_means(plan, question, found, {} if reuse is Reuse.NOTHING else several)

    def apply_noise(self, plan: QueryPlan, found: FoundMeasurements, question: str) -> QueryPlan:
        """Return the plan with the noise that its measurements will have, so that it states their errors."""
        shown = tuple(each.was_shown(question) for parts in found.stored.values() for each in parts)
        key = (plan, found.sources, found.missing, shown, tuple(found.constants.items()))
        return self._stated_plans.get_or_compute(key, lambda: found.apply_noise(plan, self.policy, question))

    def note_shown(self, found: FoundMeasurements, question: str) -> None:
        """Note which cells a question shows of entries of which not everything was shown at first."""
        text = hash_question(question)
        for each in [each for parts in found.stored.values() for each in parts if each.bought_pins]:
            if ShownCells(question=text, pins=each.pins) not in each.shown:
                noted = json.dumps({"question": text, "pins": dict(each.pins)}, sort_keys=True)
                self.index.note_shown(each.entry_id, noted)

    def _find_entries(self, identities: Iterable[str]) -> dict[str, list[int]]:
        """Return the ids of the entries that released these measurements, oldest first."""
        wanted, found = set(identities), dict[str, list[int]]()
        for identity, entry in self.index.find(wanted) if wanted else []:
            found.setdefault(identity, []).append(entry)
        return found

    def _find_bought_cells(
        self,
        plan: QueryPlan,
        reuse: Reuse,
        others: Collection[str],
        identities: Mapping[str, str],
        entries: Mapping[str, Sequence[int]],
    ) -> dict[str, tuple[StoredMeasurements, ...]]:
        """Return what the same finer cores measured before, also where no declared value has their cells."""
        wanted = {
            name: (finer, own)
            for finer in plan.finer_cores.values()
            for name, own in self.versions.complete_all([finer.core]).items()
            if name not in others
        }
        found: dict[str, tuple[StoredMeasurements, ...]] = {}
        for name, (finer, own) in wanted.items():
            known = self._list_stored(own, entries.get(own, []), finer.pins)
            best = self._find_best(finer.core, name, own, known, reuse)
            if best is not None:
                found[name] = (replace(best, primitives={identities[name]: best.primitives[own]}),)
        return found

    def _keep_apart(
        self,
        plan: QueryPlan,
        serving: dict[str, DerivedGroups],
        cells: Mapping[str, tuple[StoredMeasurements, ...]],
    ) -> None:
        """Take groups out of what serves that are made of cells which serve something else in the answer.

        Bought cells that nothing else serves stay: what is planned together is charged once.
        """
        own = self.versions.complete_all(finer.core for finer in plan.finer_cores.values())
        while clashing := [
            name
            for name, groups in serving.items()
            if any(
                groups.uses_cells(part, own[other])
                for other, parts in cells.items()
                if other not in serving
                for part in parts
            )
        ]:
            for name in clashing:
                del serving[name]

    def _find_derived(
        self,
        plan: QueryPlan,
        question: str,
        reuse: Reuse,
        bought: Collection[str],
        *,
        alone: Mapping[str, tuple[StoredMeasurements, ...]],
        several: Mapping[str, tuple[StoredMeasurements, ...]],
        identities: Mapping[str, str],
    ) -> tuple[dict[str, DerivedGroups], dict[str, DerivedGroups]]:
        """Return the groups of stored cells that serve for what is not stored, and those that may help."""
        wanted = {
            name: core
            for core in plan.cores
            for name in core.noisy_primitives
            if name not in alone and core.partition_selection is None
        }
        found = self.cells.find(wanted) if wanted else {}
        used = UsedCells()
        for name, parts in [*alone.items(), *several.items()]:
            for part in parts:
                used.take_all(part, identities[name])
        serving, helping = dict[str, DerivedGroups](), dict[str, DerivedGroups]()
        for name, candidates in found.items():
            shown = [replace(each, part=self._add_shown(each.part)) for each in candidates]
            # of equal ones that which an earlier answer to the same question showed there
            own = wanted[name].table
            for each in sorted(shown, key=lambda each: (*rank_groups(each), each.part.table != own)):
                serves = name not in bought and is_precise(plan, name, each, question, reuse)
                if serves and used.take(each):
                    serving[name] = each
                    break
        for name, candidates in found.items():
            best = next(iter(candidates), None)
            if best is not None and not {name} & {*serving, *several} and used.take(best):
                helping[name] = replace(best, part=self._add_shown(best.part))
        return serving, helping

    def _prefer_means(
        self,
        plan: QueryPlan,
        question: str,
        found: FoundMeasurements,
        several: Mapping[str, tuple[StoredMeasurements, ...]],
    ) -> FoundMeasurements:
        """Return what is found, with means of several measurements where their intervals are narrower."""
        candidates = {
            name: parts
            for name, parts in several.items()
            if len(parts) + (name in found.missing) > 1
            and [each.source for each in parts] != [each.source for each in found.stored.get(name, ())]
        }
        if not candidates:
            return found
        key = (
            question,
            plan.confidence,
            plan.least_rows,
            tuple((name, plan.noisy_primitives[name].noise) for name in found.missing if name in candidates),
            found.sources,
            tuple((name, tuple(each.entry for each in parts)) for name, parts in candidates.items()),
        )
        chosen = self._choices.get_or_compute(
            key, lambda: choose_means(plan, self.policy, question, found, candidates)
        )
        means = {name: candidates[name] for name in chosen}
        return replace(found, stored={**found.stored, **means}) if means else found

    def reserve(self, plan: QueryPlan, found: FoundMeasurements, text: str) -> Entry | None:
        """Charge what is missing; None if some of it has been released meanwhile, and is to be found."""
        _, guarantee = plan.compute_charge(found.missing)
        return self.reserve_several([(found, found.missing)], guarantee, text)

    def reserve_several(
        self,
        wanted: Sequence[tuple[FoundMeasurements, Collection[str]]],
        guarantee: Guarantee,
        text: str,
    ) -> Entry | None:
        """Charge what is missing for several plans, of each the given names, as `reserve` does."""
        # two cores of one statement may be the same in other words
        missing = sorted(
            {
                found.identities[name]
                for found, names in wanted
                for core in found.cores
                # of a core with open constants, what is measured is known once they are released
                if not find_open_constants(core.question)
                for name in core.charged_names
                if name in names
            }
        )
        key = hashlib.sha256(repr((KIND, missing, guarantee)).encode()).hexdigest()
        known = frozenset().union(*(found.known_entries for found, _ in wanted))
        families = self._list_families([found for found, _ in wanted], missing)
        return self.index.reserve(key, text, guarantee, identities=missing, known=known, families=families)

    def _list_families(self, wanted: Sequence[FoundMeasurements], identities: Collection[str]) -> set[str]:
        """Return the families of what is measured, by which others find its cells."""
        described = [
            self.cells.describe(found.get_measured_core(core))
            for found in wanted
            for core in found.cores
            if not find_open_constants(core.question) and {*core.noisy_primitives} & {*found.missing}
        ]
        return {
            each.family
            for description in described
            for identity, each in description.measurements.items()
            if identity in identities
        }

    def index_and_serialize(
        self, plan: QueryPlan, found: FoundMeasurements, measured: MeasuredCores, entry: Entry
    ) -> bytes:
        """Return what was measured as the bytes that its entry stores; index what was unknown before."""
        filled = self.constants.fill_released(plan, found, measured)
        if plan.open_constants:
            self.index.announce(entry, {filled.identities[name] for name in found.missing})
            self.constants.note_values(plan, filled, entry)
        return self.serialize([(filled, measured)])

    def serialize(self, released: Sequence[tuple[FoundMeasurements, MeasuredCores]]) -> bytes:
        """Return what was measured for some plans as the bytes that its entry stores."""
        return serialize_cores(
            [
                (
                    found.get_measured_core(core),
                    found.identities,
                    measured[core.table],
                    found.finer_cores[core.table].pins if core.table in found.finer_cores else {},
                    self.cells.describe(found.get_measured_core(core)),
                )
                for found, measured in released
                for core in found.cores
                if core.table in measured
            ]
        )

    def _list_stored(
        self, identity: str, entries: Sequence[int], pins: Pins | None = None
    ) -> tuple[StoredMeasurements, ...]:
        """Return all stored measurements of an identity, the oldest first, or the pinned cells of them."""
        parts = [each for entry in entries for each in self._load(entry) if each.has(identity)]
        return tuple(self._add_shown(each.select_cells(pins or {})) for each in parts)

    def _add_shown(self, part: StoredMeasurements) -> StoredMeasurements:
        """Return stored cells with what questions have shown, where the first one did not show all cells."""
        if not part.bought_pins:
            return part
        noted = [json.loads(each) for each in self.index.list_shown(part.entry_id)]
        shown = [ShownCells(question=each["question"], pins=each["pins"]) for each in noted]
        return replace(part, shown=tuple(shown))

    def _find_best(
        self,
        core: CorePlan,
        name: str,
        identity: str,
        known: Sequence[StoredMeasurements],
        reuse: Reuse,
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
        # of equal ones that which an earlier answer to the same question showed there
        best = min(known, key=lambda each: (rank(each), each.table != core.table), default=None)
        if best is None or reuse is Reuse.ANY:
            return best
        return best if rank(best) <= planned * SLACK else None

    def _find_one_entry(
        self,
        core: CorePlan,
        identities: Mapping[str, str],
        entries: Mapping[str, Sequence[int]],
        reuse: Reuse,
    ) -> dict[str, tuple[StoredMeasurements, ...]]:
        """Return one entry for all measurements, or nothing."""
        lists = [set(entries.get(identity, ())) for identity in identities.values()]
        for entry in sorted(set.intersection(*lists)) if lists else []:
            serves = {
                name: self._find_best(core, name, identity, self._list_stored(identity, [entry]), reuse)
                for name, identity in identities.items()
            }
            if all(each is not None for each in serves.values()):
                return {name: (each,) for name, each in serves.items() if each is not None}
        return {}

    def _load(self, entry: int) -> tuple[StoredMeasurements, ...]:
        """Return what an entry released, of each core."""

        def read() -> tuple[StoredMeasurements, ...]:
            stored = self.index.get_answer(entry)
            if stored.metadata.get("kind") == KIND:
                return parse_entry(stored.answer, stored.entry)
            counts = parse_counts(stored.answer, stored.entry)
            return () if counts is None else (counts,)

        return self._entries.get_or_compute(entry, read)
