"""The stored measurements that serve a question, and what it needs besides: its noise and its numbers.

Mean        a measurement may be served by several stored ones, and by one that is bought: then it is their
            mean by inverse variance (`sql.repeated_looks`), over groups matched by their keys.
Shown       an earlier answer that was another question showed what it measured, and may be why this one is
            asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.accounting.entries import build_damaged_ledger_error
from discreet.core.policy import Policy
from discreet.mechanisms.sampling import Integers
from discreet.services.stored_measurements import Keys, StoredMeasurements, find_cells
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.releases import MeasuredCore, MeasuredCores
from discreet.sql.repeated_looks import average_measurements

if TYPE_CHECKING:
    from discreet.sql.core_planning import CorePlan, NoisyPrimitive
    from discreet.sql.measurement_slices import FinerCore
    from discreet.sql.planner import QueryPlan
    from discreet.sql.released_constants import ConstantValues

BOUGHT = 0
"""The number of an entry that is not made yet: others count from 1."""
NO_NUMBERS = np.zeros(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class FoundMeasurements:
    """The stored measurements that serve a plan, by name, and the names of those that are missing.

    What serves a measurement by name is one stored measurement, or several whose mean is used, the oldest
    first. If its name is missing too, what is bought is the last of them. `finer_cores` are measured for what
    is missing, by table, and some of their cells are used.
    """

    cores: tuple[CorePlan, ...]
    identities: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, tuple[StoredMeasurements, ...]]
    missing: tuple[str, ...]
    known_entries: frozenset[int] = frozenset()
    """The ids of all entries that released a missing measurement."""
    finer_cores: Mapping[str, FinerCore] = field(default_factory=dict)
    constants: ConstantValues = field(default_factory=dict)
    """The values of the constants in conditions of its cores, as far as they are released."""

    @property
    def entries(self) -> tuple[int, ...]:
        """The numbers of the entries that serve."""
        return tuple(sorted({each.entry for parts in self.stored.values() for each in parts}))

    @property
    def combined_entries(self) -> tuple[int, ...]:
        """The numbers of the entries that what is bought is combined with."""
        parts = [each for name in self.missing for each in self.stored.get(name, ())]
        return tuple(sorted({each.entry for each in parts}))

    @property
    def sources(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The entries that serve for each measurement."""
        return tuple((name, tuple(each.entry for each in parts)) for name, parts in self.stored.items())

    def fill_plan(self, plan: QueryPlan) -> QueryPlan:
        """Return the plan whose missing measurements are to be made: its constants, and finer cores."""
        return replace(plan, cores=self.cores, finer_cores=self.finer_cores, constants=self.constants)

    # -- Noise ----------------------------------------------------------------------------------------------

    def apply_noise(self, plan: QueryPlan, policy: Policy, question: str) -> QueryPlan:
        """Return the plan with the noise that its measurements will have, so that it states their errors."""
        cores = tuple(self._apply_core_noise(core, policy, question) for core in self.cores)
        was_shown = any(each.was_shown(question) for parts in self.stored.values() for each in parts)
        # where noise is shared, what is computed of several tables has the interval that holds however it is
        shown = was_shown or self._shares_noise()
        return replace(plan, cores=cores, was_shown=shown, constants=self.constants)

    def _shares_noise(self) -> bool:
        """Return True if the noise of two measurements may be the same."""
        used: dict[str, list[StoredMeasurements]] = {}
        for name, parts in self.stored.items():
            others = used.setdefault(self.identities[name], [])
            if any(each.shares_cells(other) for each in parts for other in others):
                return True
            others += parts
        return False

    def _apply_core_noise(self, core: CorePlan, policy: Policy, question: str) -> CorePlan:
        noisy, selections = dict(core.noisy_primitives), dict(core.value_selections)
        for name, planned in self.get_measured_core(core).noisy_primitives.items():
            noisy[name] = replace(noisy[name], noise=planned.noise)
        cells, has_chosen_cells = 0, False
        for name in core.charged_names:
            parts = self.stored.get(name, ())
            if not parts:
                continue
            if name in noisy:
                bought = noisy[name] if name in self.missing else None
                noisy[name] = noisy[name].restate(describe_mean(parts, self.identities[name], bought))
            else:
                selections[name] = core.replan_selection(
                    name, parts[0].epsilons[self.identities[name]], policy
                )
            for each in parts:
                if each.choices and each.was_shown(question):
                    cells, has_chosen_cells = (
                        max(cells, each.choices),
                        has_chosen_cells or each.has_chosen_cells,
                    )
        return replace(
            core,
            noisy_primitives=noisy,
            value_selections=selections,
            shown_cells=cells,
            has_chosen_cells=has_chosen_cells,
        )

    def get_measured_core(self, core: CorePlan) -> CorePlan:
        """Return the core that is measured for one of the plan: a finer one, or itself."""
        return self.finer_cores[core.table].core if core.table in self.finer_cores else core

    # -- Numbers --------------------------------------------------------------------------------------------

    def combine(self, measured: MeasuredCores) -> dict[str, MeasuredCore]:
        """Return everything that the plan needs: for each core, over the groups in the order of its keys."""
        return {core.table: self._combine_core(core, measured.get(core.table)) for core in self.cores}

    def combine_available(self, measured: MeasuredCores) -> dict[str, MeasuredCore]:
        """Return the cores of which everything is stored or measured already."""
        return {
            core.table: self._combine_core(core, measured.get(core.table))
            for core in self.cores
            if core.table in measured or not {*core.charged_names} & {*self.missing}
        }

    def _combine_core(self, core: CorePlan, measured: MeasuredCore | None) -> MeasuredCore:
        if measured is not None and core.table in self.finer_cores:
            measured = _select_cells(core, self.finer_cores[core.table], measured)
        stored = {name: self.stored[name] for name in core.charged_names if self.stored.get(name)}
        parts = {id(each): each for parts in stored.values() for each in parts}
        keys = _order_keys(core, next(iter(parts.values()))) if measured is None else measured.keys
        places = {key: _find_places(_rename_keys(core, part), keys) for key, part in parts.items()}
        primitives = {} if measured is None else dict(measured.primitives)
        selected = {} if measured is None else dict(measured.selected_values)
        for name, own in stored.items():
            identity = self.identities[name]
            if name in core.value_selections:
                (part,) = own
                values, order = part.selected_values[identity], places[id(part)]
                selected[name] = values if order is None else values.take(pa.array(order))
                continue
            taken = [_take_numbers(each.primitives[identity], places[id(each)]) for each in own]
            bought = [primitives[name]] if name in self.missing else []
            looks = list_looks([each.entry_id for each in own], is_bought=bool(bought))
            primitives[name] = average_measurements([*taken, *bought], looks)
        return MeasuredCore(keys=keys, primitives=primitives, selected_values=selected)


def _select_cells(core: CorePlan, finer: FinerCore, measured: MeasuredCore) -> MeasuredCore:
    """Return the cells of a finer core that a core asks for."""
    names = {identity: name for name, identity in finer.core.identity.key_identities.items()}
    rows = find_cells({identity: measured.keys[name] for identity, name in names.items()}, finer.pins)
    own = core.identity.key_identities
    return MeasuredCore(
        keys={name: measured.keys[names[identity]].take(pa.array(rows)) for name, identity in own.items()},
        primitives={name: _take_numbers(each, rows) for name, each in measured.primitives.items()},
        selected_values={},
    )


def describe_mean(
    parts: tuple[StoredMeasurements, ...], identity: str, bought: NoisyPrimitive | None
) -> ReleasedPrimitive:
    """Return the mean of stored measurements, and of one that is bought if any, without its numbers."""
    stored = [replace(each.primitives[identity], numbers=NO_NUMBERS) for each in parts]
    new = [] if bought is None else [bought.to_released(NO_NUMBERS)]
    looks = list_looks([each.entry_id for each in parts], is_bought=bought is not None)
    return average_measurements([*stored, *new], looks)


def list_looks(entries: list[int], *, is_bought: bool) -> frozenset[int]:
    """Return the entries that were bought after the first one was seen."""
    return frozenset([*entries, *([BOUGHT] if is_bought else [])]) - {entries[0]}


# -- Groups in one order ------------------------------------------------------------------------------------


def _rename_keys(core: CorePlan, part: StoredMeasurements) -> dict[str, pa.ChunkedArray]:
    return {name: part.keys[identity] for name, identity in core.identity.key_identities.items()}


def _order_keys(core: CorePlan, part: StoredMeasurements) -> dict[str, pa.ChunkedArray]:
    """Return the keys in the order of the plan, whatever the order was when they were measured."""
    renamed = _rename_keys(core, part)
    written = tuple(core.identity.key_identities.values())
    if written == tuple(key for key in part.keys if key not in part.pins) or not renamed:
        return renamed
    ranks = {
        name: pc.index_in(values, pa.array(core.key_orders[name], values.type))
        if name in core.key_orders
        else values
        for name, values in renamed.items()
    }
    places = pc.sort_indices(pa.table(ranks), [(name, "ascending") for name in ranks])
    return {name: values.take(places) for name, values in renamed.items()}


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
    return replace(released, numbers=released.numbers[places])
