"""Derived measurements: groups that are made of the cells of a stored, finer measurement (`sql.cell_maps`).

Found       by the family of a measurement, under which the index has the entries that released one of it.
            What their cells may make up is read once, and kept.
Noise       that of the sum of as many cells as the largest group has: more independent noise never narrows a
            sum, so the law holds for the smaller groups, too. A group that has no cell is exactly 0.
Chosen      cells that were shown before may have been chosen by their noise. Where each group is all cells
            that agree in some keys, there are as many choices as there are such totals. Else any cells may
            have been chosen: where all cells are within h of the truth, a sum of m of them is within m h, so
            its noise is stated as m times that of a cell, which is chosen among all. Without a choice that
            is wider than it need be: the mean of m symmetric, log-concave noises is more peaked than one.
Once        different measurements of one answer never use the same cell: their noises would not be
            independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.accounting.measurement_index import MeasurementIndex
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms.combined_noise import CombinedNoise, ReleasedNoise
from discreet.mechanisms.sampling import Integers
from discreet.services.bounded_cache import BoundedCache
from discreet.services.measurement_versions import MeasurementVersions
from discreet.services.stored_measurements import (
    CellDescription,
    Keys,
    StoredCells,
    StoredMeasurements,
    find_cells,
)
from discreet.sql.cell_maps import (
    MapStatement,
    WantedCells,
    describe_keys,
    describe_wanted_cells,
    write_map_statement,
)
from discreet.sql.interval_estimates import ReleasedPrimitive

if TYPE_CHECKING:
    from discreet.sql.core_planning import CorePlan
    from discreet.sql.measurement_slices import Pins

MOST_CELLS = 1 << 16  # of a stored measurement, of which others are made
MOST_TRIED = 64  # entries of one family, the newest
LARGEST = 1 << 62
MAX_CACHED_DESCRIPTIONS, MAX_CACHED_MAPS, MAX_CACHED_GROUPS = 4_096, 512, 128
OUTSIDE = -1
"""The place of a cell that no group is made of."""
CellKey = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class CellMap:
    """The groups of a measurement, and in which of them a cell is, by its values of the keys `sources`."""

    keys: Mapping[str, pa.ChunkedArray]
    sources: tuple[str, ...]
    places: Mapping[CellKey, int]
    group_count: int

    @cached_property
    def used_cells(self) -> frozenset[CellKey]:
        """The cells that some group is made of."""
        return frozenset(cell for cell, place in self.places.items() if place != OUTSIDE)


@dataclass(frozen=True, kw_only=True)
class DerivedGroups:
    """A measurement that is made of the cells `rows` of the measurement `source`, which `cell_keys` has."""

    part: StoredMeasurements
    source: str
    cell_keys: Keys = field(repr=False)
    rows: frozenset[int]
    most_cells: int

    def get_released(self) -> ReleasedPrimitive:
        """Return its numbers with their noise."""
        (released,) = self.part.primitives.values()
        return released

    def uses_cells(self, cells: StoredMeasurements, identity: str) -> bool:
        """Return True if the groups may be made of some of these pinned cells of a measurement."""
        if (self.part.source, self.source) != (cells.source, identity):
            return False
        rows = find_cells(self.cell_keys, cells.pins)
        return rows is None or not self.rows.isdisjoint(rows.tolist())

    def rename(self, identity: str) -> StoredMeasurements:
        """Return the groups under the identity of the measurement that they serve."""
        return replace(self.part, primitives={identity: self.get_released()})


# -- Maps ---------------------------------------------------------------------------------------------------


def read_cell_map(statement: MapStatement, listed: pa.Table) -> CellMap | None:
    """Return the map that a statement lists; None if the groups are not made of whole cells, or of all rows.

    Values that share a cell must share a group. A row without a declared value is in the cell that has its
    keys, if there is one; else it must be in no group.
    """
    places, firsts = dict[CellKey, int](), list[int]()
    groups = _list_rows(listed, "k", len(statement.keys))
    cells = _list_rows(listed, "f", len(statement.sources))
    inside, covered = listed["inside"].to_pylist(), listed["is_covered"].to_pylist()
    numbers = dict[CellKey, int]()
    for row in np.flatnonzero(covered).tolist():
        if groups[row] not in numbers:
            numbers[groups[row]] = len(firsts)
            firsts.append(row)
        place = numbers[groups[row]] if inside[row] else OUTSIDE
        if places.setdefault(cells[row], place) != place:
            return None
    for row in np.flatnonzero(~np.asarray(covered, dtype=np.bool_)).tolist():
        place = numbers.get(groups[row], OUTSIDE) if inside[row] else OUTSIDE
        if places.get(cells[row], OUTSIDE) != place:
            return None
    taken = pa.array(firsts, pa.int64())
    keys = {identity: _take_keys(listed[f"k{at}"], taken) for at, identity in enumerate(statement.keys)}
    return CellMap(keys=keys, sources=statement.sources, places=places, group_count=len(firsts))


def _list_rows(table: pa.Table, prefix: str, count: int) -> list[CellKey]:
    if not count:
        return [()] * table.num_rows
    return list(zip(*(table[f"{prefix}{place}"].to_pylist() for place in range(count)), strict=True))


def _take_keys(column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    taken = column.take(rows)
    return taken.cast(pa.string()) if pa.types.is_dictionary(taken.type) else taken


# -- Groups -------------------------------------------------------------------------------------------------


def derive_groups(
    part: StoredMeasurements, source: str, cell_map: CellMap, *, is_additive: bool
) -> DerivedGroups | None:
    """Return the groups that a map makes of the cells of a stored measurement; None if it cannot."""
    keys = [part.keys[identity].to_pylist() for identity in cell_map.sources]
    cells: list[CellKey] = list(zip(*keys, strict=True)) if keys else [()] * part.cells
    if not cell_map.used_cells <= {*cells} or any(cell not in cell_map.places for cell in cells):
        return None  # another engine writes these values in another way
    places = np.array([cell_map.places[cell] for cell in cells], dtype=np.int64)
    rows = np.flatnonzero(places != OUTSIDE)
    counts = np.bincount(places[rows], minlength=cell_map.group_count)
    most = int(counts.max(initial=0))
    if most > 1 and not is_additive:
        return None
    used = [[key[row] for row in rows.tolist()] for key in keys]
    is_total = _are_totals(part, (rows[places[rows] == group] for group in np.unique(places[rows])))
    released = part.primitives[source]
    numbers = _add_numbers(released.numbers[rows], places[rows], cell_map.group_count, most)
    derived = replace(
        part,
        keys=cell_map.keys,
        primitives={
            source: replace(released, numbers=numbers, noise=_add_noise(released, most, is_total=is_total))
        },
        selected_values={},
        pins=_find_pins(cell_map.sources, used),
        choices=_count_choices(part, most, len(cell_map.keys), is_total=is_total),
        has_chosen_cells=not (is_total and _are_totals(part, [rows])),
    )
    return DerivedGroups(
        part=derived, source=source, cell_keys=part.keys, rows=frozenset(rows.tolist()), most_cells=most
    )


def _add_numbers(numbers: Integers, places: Integers, groups: int, most: int) -> Integers:
    largest = int(np.abs(numbers.astype(object)).max(initial=0)) * max(1, most)
    total: Integers = np.zeros(groups, np.int64 if largest < LARGEST else object)
    np.add.at(total, places, numbers.astype(total.dtype))
    return total


def _find_pins(sources: Sequence[str], values: Sequence[Sequence[object]]) -> Pins:
    """Return the keys that have one value in all cells that are used."""
    pins: dict[str, str | bool] = {}
    for identity, used in zip(sources, values, strict=True):
        if used and isinstance(used[0], str | bool) and all(each == used[0] for each in used):
            pins[identity] = used[0]
    return pins


def _are_totals(part: StoredMeasurements, sets: Iterable[Integers]) -> bool:
    """Return whether each of some sets of cells is all cells that agree in some keys."""
    codes = [_encode_values(key) for key in part.keys.values()]
    for rows in sets:
        agree = np.ones(part.cells, dtype=np.bool_)
        for code in codes if rows.size else ():
            if (code[rows] == code[rows[0]]).all():
                agree &= code == code[rows[0]]
        if rows.size and int(agree.sum()) != rows.size:
            return False
    return True


def _encode_values(column: pa.ChunkedArray) -> Integers:
    encoded = column.combine_chunks().dictionary_encode("encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _add_noise(released: ReleasedPrimitive, most: int, *, is_total: bool) -> ReleasedNoise:
    """Return the noise of a sum of at most so many cells."""
    if most <= 1:
        return released.noise
    if is_total:
        return CombinedNoise.from_cells(released.noise, most)
    return CombinedNoise.from_weights([(released.noise, most)])


def _count_choices(part: StoredMeasurements, most: int, keys: int, *, is_total: bool) -> int:
    """Return among how many the groups, or the cells that they are sums of, may have been chosen."""
    if not is_total:
        return part.cells
    # as totals over some of its keys, too: a table over `keys` counts those over its own
    return part.cells << (max(0, len(part.keys) - keys) if most <= 1 else len(part.keys))


# -- Finding ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CellFinder:
    """Finds stored measurements of whose cells others are made."""

    policy: Policy
    index: MeasurementIndex
    versions: MeasurementVersions
    load: Callable[[int], tuple[StoredMeasurements, ...]]
    _wanted: BoundedCache[str, WantedCells | None] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_MAPS), repr=False
    )
    _descriptions: BoundedCache[int, tuple[CellDescription, ...]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_DESCRIPTIONS), repr=False
    )
    _maps: BoundedCache[MapStatement, CellMap | None] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_MAPS), repr=False
    )
    _groups: BoundedCache[Hashable, list[DerivedGroups]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_GROUPS), repr=False
    )

    def describe(self, core: CorePlan) -> CellDescription:
        """Return what the cells of a core's measurements may make up, for its entry to store."""
        if core.domain is None:
            return CellDescription()
        measurements = {}
        for name, each in core.noisy_primitives.items():
            cells = core.identity.identify_cells(each.primitive.meaning)
            identity = core.identities[name]
            if cells is not None:
                measurements[self.versions.complete(identity)] = StoredCells(
                    family=self.versions.complete(cells.family),
                    conditions=cells.conditions,
                    tables={table: tuple(columns) for table, columns in identity.tables.items()},
                    version=self.versions.compute_version(identity.tables),
                )
        return CellDescription(keys=describe_keys(core, self.policy), measurements=measurements)

    def find(self, wanted: Mapping[str, CorePlan]) -> dict[str, list[DerivedGroups]]:
        """Return what stored cells make up of measurements, by name, those with the least noise first."""
        needs = {
            name: need
            for name, core in wanted.items()
            if (need := self._describe_wanted(core, name)) is not None
        }
        families = {name: self.versions.complete(need.identity.family) for name, need in needs.items()}
        entries = defaultdict[str, list[int]](list)
        for family, entry in self.index.find({*families.values()}) if families else []:
            entries[family].append(entry)
        return {
            name: self._list_groups(
                wanted[name].identities[name].text,
                need,
                families[name],
                entries[families[name]][-MOST_TRIED:],
            )
            for name, need in needs.items()
        }

    def _list_groups(
        self, identity: str, wanted: WantedCells, family: str, entries: Sequence[int]
    ) -> list[DerivedGroups]:
        def derive() -> list[DerivedGroups]:
            found = [groups for entry in entries for groups in self._derive(wanted, family, entry)]
            return sorted(found, key=rank_groups)

        return self._groups.get_or_compute((identity, family, *entries), derive)

    def _describe_wanted(self, core: CorePlan, name: str) -> WantedCells | None:
        return self._wanted.get_or_compute(
            core.identities[name].text, lambda: describe_wanted_cells(core, name, self.policy)
        )

    def _derive(self, wanted: WantedCells, family: str, entry: int) -> Iterator[DerivedGroups]:
        """Yield what the measurements of an entry make up of a wanted one."""
        descriptions = self._descriptions.get_or_compute(
            entry, lambda: tuple(each.description for each in self.load(entry))
        )
        for place, described in enumerate(descriptions):
            for source, cells in described.measurements.items():
                if cells.family != family or not self.versions.is_current(cells.tables, cells.version):
                    continue
                statement = write_map_statement(wanted, described.keys, cells.conditions)
                if statement is None:
                    continue
                part = self.load(entry)[place]
                if part.cells > MOST_CELLS or source not in part.primitives:
                    continue
                cell_map = self._read_map(statement)
                if cell_map is None:
                    continue
                groups = derive_groups(part, source, cell_map, is_additive=wanted.is_additive)
                if groups is not None:
                    yield groups

    def _read_map(self, statement: MapStatement) -> CellMap | None:
        """Return the map of a statement; None if it takes too long, so that what is wanted is measured."""

        def read() -> CellMap | None:
            try:
                return read_cell_map(statement, query_released_tables(statement.text, {}))
            except RequestError:
                return None

        return self._maps.get_or_compute(statement, read)


def rank_groups(groups: DerivedGroups) -> tuple[float, int]:
    """Return what groups are ordered by: their noise, then among how many they may have been chosen."""
    return float(groups.get_released().noise.variance), groups.part.choices


@dataclass
class UsedCells:
    """The cells that the measurements of one answer are made of."""

    _rows: dict[tuple[tuple[int, str], str], list[frozenset[int] | None]] = field(default_factory=dict)

    def take_all(self, part: StoredMeasurements, identity: str) -> None:
        """Note that a measurement is used as it is."""
        self._rows.setdefault((part.source, identity), []).append(None)

    def take(self, groups: DerivedGroups) -> bool:
        """Note the cells of groups, and return True, if none of them is used."""
        known = self._rows.setdefault((groups.part.source, groups.source), [])
        if any(each is None or each & groups.rows for each in known):
            return False
        known.append(groups.rows)
        return True
