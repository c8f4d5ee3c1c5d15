"""A synthetic table, with people who were in its source data and people who were not.

Scales      every column becomes positions on one scale from the synthetic table: a word its code, a number
            the share of the synthetic values below it (ties count half), out of `nearest_records.UNIT`.
            Values beyond the synthetic ones get the end position. An attacker with the synthetic table can do
            the same.
Panel       people of the same population who are not in the data. What an attack finds about them does not
            come from their data but from similar people; only what it finds beyond that about the people in
            the data was revealed by their data.
Halves      attack parameters are chosen on every other person, and judged on the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.attacks.nearest_records import MISSING, MOST_COLUMNS, UNIT, Booleans, Integers, Places
from discreet.core.column_entry import ColumnType
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count

Floats = NDArray[np.float64]
NUMBERS = frozenset({ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.DATE, ColumnType.TIMESTAMP})
MAX_VICTIMS = 2_000
MIN_PEOPLE = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticRelease:
    """Tables of positions, with a row for each column; `victim_rows` and `panel_rows` select who is attacked.

    `values[j]` are the words of column j by code, or its synthetic numbers in ascending order.
    """

    columns: tuple[str, ...]
    numeric: Booleans
    synthetic: Places = field(repr=False)
    original: Places = field(repr=False)
    panel: Places = field(repr=False)
    values: tuple[pa.Array, ...] = field(repr=False)
    victim_rows: Integers = field(repr=False)
    panel_rows: Integers = field(repr=False)

    @property
    def victims(self) -> Places:
        """The attacked people in the data."""
        return self.original[:, self.victim_rows]

    @property
    def panel_victims(self) -> Places:
        """The people of the panel, attacked as if they were in the data."""
        return self.panel[:, self.panel_rows]

    def find_column_indexes(self, columns: tuple[str, ...]) -> Integers:
        """Return the indexes of columns."""
        for name in columns:
            if name not in self.columns:
                raise RequestError(
                    f"attack: there is no column {name} to compare.",
                    hint=f"There are {', '.join(self.columns)}.",
                )
        return np.array([self.columns.index(name) for name in columns], np.int64)

    def take_every(self, offset: int, stride: int = 2) -> SyntheticRelease:
        """Return the release with every `stride`-th person, from index `offset` on."""
        return replace(
            self, victim_rows=self.victim_rows[offset::stride], panel_rows=self.panel_rows[offset::stride]
        )

    def limit_people(self, people: int) -> SyntheticRelease:
        """Return the release with at most this many people on either side, evenly spread."""
        return replace(
            self,
            victim_rows=self.victim_rows[choose_evenly(len(self.victim_rows), people)],
            panel_rows=self.panel_rows[choose_evenly(len(self.panel_rows), people)],
        )

    def format_position(self, column: int, position: int) -> str:
        """Return a position as text: a word, or an approximate number."""
        values = self.values[column]
        if position > UNIT or not len(values) or (not self.numeric[column] and position >= len(values)):
            return "missing"
        if not self.numeric[column]:
            return str(values[position].as_py())
        return f"about {values[min(position * len(values) // UNIT, len(values) - 1)].as_py()}"


def build_synthetic_release(
    synthetic: pa.Table,
    original: pa.Table,
    panel: pa.Table,
    column_types: Mapping[str, ColumnType],
    *,
    victims: int = MAX_VICTIMS,
) -> SyntheticRelease:
    """Put three tables on the scales of the synthetic one, by the columns of declared types."""
    require_count("build_synthetic_release", "victims", victims, minimum=MIN_PEOPLE)
    tables = {"synthetic table": synthetic, "original table": original, "panel": panel}
    _require_tables(tables, column_types)
    scaled = [_encode_column(name, kind, list(tables.values())) for name, kind in column_types.items()]
    sides = [np.stack([places[side] for _, places in scaled]) for side in range(3)]
    return SyntheticRelease(
        columns=tuple(column_types),
        numeric=np.array([kind in NUMBERS for kind in column_types.values()]),
        synthetic=sides[0],
        original=sides[1],
        panel=sides[2],
        values=tuple(values for values, _ in scaled),
        victim_rows=choose_evenly(original.num_rows, victims),
        panel_rows=choose_evenly(panel.num_rows, victims),
    )


def choose_evenly(rows: int, most: int) -> Integers:
    """Return the positions of at most `most` rows, evenly spread over all of them."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.int64))


def _require_tables(tables: Mapping[str, pa.Table], kinds: Mapping[str, ColumnType]) -> None:
    if not 2 <= len(kinds) <= MOST_COLUMNS:
        raise RequestError(
            f"attack: the tables must share at least 2 and at most {MOST_COLUMNS:,} declared columns.",
            hint="Declare the types of the columns that the tables have in common.",
        )
    for called, table in tables.items():
        lacking = [name for name in kinds if name not in table.column_names]
        if lacking:
            raise RequestError(
                f"attack: the {called} has no column {lacking[0]}.",
                hint=f"It has {', '.join(table.column_names) or 'none'}.",
            )
        least = 1 if table is tables["synthetic table"] else MIN_PEOPLE
        if table.num_rows < least:
            raise RequestError(f"attack: the {called} has too few rows.", hint=f"Give at least {least}.")


def _encode_column(name: str, kind: ColumnType, tables: list[pa.Table]) -> tuple[pa.Array, list[Places]]:
    columns = [table.column(name).combine_chunks() for table in tables]
    return _encode_numbers(name, columns) if kind in NUMBERS else _encode_words(columns)


def _encode_words(columns: list[pa.Array]) -> tuple[pa.Array, list[Places]]:
    texts = [pc.cast(_to_plain_array(column), pa.string()) for column in columns]
    values = pa.concat_arrays(texts).unique().drop_null()
    found = [pc.index_in(text, values).fill_null(len(values)) for text in texts]
    return values, [each.to_numpy(zero_copy_only=False).astype(np.int32) for each in found]


def _encode_numbers(name: str, columns: list[pa.Array]) -> tuple[pa.Array, list[Places]]:
    try:
        floats = [_to_floats(column) for column in columns]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise RequestError(
            f"attack: column {name} is declared a number, but a table has other values in it.",
            hint="Declare it a category, or convert it.",
        ) from None
    order = np.argsort(floats[0], kind="stable")[: int(np.count_nonzero(~np.isnan(floats[0])))]
    values = _to_plain_array(columns[0]).take(pa.array(order))
    return values, [_rank_numbers(each, floats[0][order]) for each in floats]


def _to_floats(column: pa.Array) -> Floats:
    plain = _to_plain_array(column)
    if pa.types.is_date32(plain.type):
        plain = pc.cast(plain, pa.int32())
    elif pa.types.is_temporal(plain.type):
        plain = pc.cast(pc.cast(plain, pa.timestamp("us")), pa.int64())
    return np.asarray(pc.cast(plain, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _rank_numbers(numbers: Floats, ordered: Floats) -> Places:
    if not ordered.size:
        return np.full(numbers.size, MISSING, np.int32)
    within = np.clip(numbers, ordered[0], ordered[-1])
    below = np.searchsorted(ordered, within, "left") + np.searchsorted(ordered, within, "right")
    places = np.rint(below * (UNIT / 2 / ordered.size))
    return np.where(np.isnan(numbers), MISSING, places).astype(np.int32)


def _to_plain_array(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
