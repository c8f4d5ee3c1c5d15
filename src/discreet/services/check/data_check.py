"""The check of data against its policy: counts, verdicts and fixes for every table and column.

Counted     inside the engine, by one aggregate statement per table (`engines.column_profile`), one on its
            people and one for each link (`engines.person_profile`). Only where something does not fit, a
            second pass lists the commonest texts that do not.
Custodian   Everything here is computed from real data, and is for the custodian alone. The lines of rows that
            could not be read are in the custodian's log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from discreet.core.column_entry import Column
from discreet.core.csv_options import CsvOptions
from discreet.core.engine import Publisher
from discreet.core.engine_faults import CUSTODIAN_LOG
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.engines.column_profile import (
    ColumnForm,
    ColumnProfile,
    parse_profiles,
    write_commonest,
    write_profiles,
)
from discreet.engines.csv_sources import name_text_view, require_columns
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.file_formats import is_text_source
from discreet.engines.person_profile import (
    COUNT_SCALE,
    TableTypes,
    list_bounded_numbers,
    write_bounded_sums,
    write_link_counts,
    write_people_counts,
)
from discreet.engines.sources import UnreadRows
from discreet.services import fault_log
from discreet.services.check.check_report import Bias, ColumnCheck, DataCheck, PeopleCheck, TableCheck
from discreet.services.check.table_findings import list_table_findings
from discreet.services.check.verdicts import (
    ColumnContext,
    CommonText,
    LinkCheck,
    add_nearest,
    list_findings,
)
from discreet.services.progress import ignore_progress
from discreet.services.publishers import open_publisher

MAX_LOGGED_LINES = 100


def check_data(
    policy: Policy,
    names: Collection[str] = (),
    *,
    frames: Mapping[str, pa.Table] | None = None,
    progress: Callable[[str], None] = ignore_progress,
) -> DataCheck:
    """Return the check of some tables of a policy, or of all; `frames` replace the sources of tables."""
    chosen = require_tables(policy, names)
    opened = _list_linked_tables(policy, chosen)
    held = {
        name: _rename_columns(name, policy.tables[name], frame)
        for name, frame in (frames or {}).items()
        if name in opened
    }
    read = {name: policy.tables[name] for name in opened if name not in held}
    texts = {name: table for name, table in read.items() if is_text_source(table.source)}
    progress("opening the tables")
    with fault_log.log_faults(policy.ledger), ExitStack() as stack:
        publisher: Publisher = stack.enter_context(
            open_publisher(policy.engine, read, held, defers_quotes=True)
        )
        reader = publisher if isinstance(publisher, DuckDBPublisher) else None
        if texts and reader is None:  # DuckDB reads text for every engine
            reader = stack.enter_context(DuckDBPublisher(texts, defers_quotes=True))
        checker = _Checker(
            policy,
            publisher,
            texts={} if reader is None else dict.fromkeys(texts, reader),
            opened=opened,
            live={name for name in chosen if name in held or not policy.is_embedded},
        )
        return DataCheck(tables=tuple(checker.check_table(name, progress) for name in chosen))


def require_tables(policy: Policy, names: Collection[str]) -> list[str]:
    """Return the tables that were named, or all; refuse one that the policy does not have."""
    unknown = [name for name in names if name not in policy.tables]
    if unknown:
        raise RequestError(
            f"check: the policy has no table {unknown[0]}.", hint=f"It has {', '.join(policy.tables)}."
        )
    return list(dict.fromkeys(names)) or list(policy.tables)


def _rename_columns(name: str, table: Table, frame: pa.Table) -> pa.Table:
    """Return the declared columns of a frame, by their declared names."""
    wanted = table.source_names
    require_columns(name, wanted, frame.column_names, "the frame")
    own = {each.lower(): each for each in frame.column_names}
    return frame.select([own[origin.lower()] for origin in wanted.values()]).rename_columns(list(wanted))


def _list_linked_tables(policy: Policy, names: Collection[str]) -> list[str]:
    """Return tables and those that their links lead to, directly or through others."""
    found = list(names)
    for name in found:
        links = policy.tables[name].links.values()
        found += [link.table for link in links if link.table not in found]
    return found


class _Checker:
    """Checks tables by the statements of one publisher."""

    def __init__(
        self,
        policy: Policy,
        publisher: Publisher,
        *,
        texts: Mapping[str, DuckDBPublisher],
        opened: Collection[str],
        live: Collection[str],
    ) -> None:
        self._policy, self._publisher, self._texts, self._live = policy, publisher, texts, live
        self._types: TableTypes = {name: self._read_types(name) for name in opened}

    def _read_types(self, name: str) -> dict[str, str]:
        types = self._publisher.column_types(name)
        lower = {own.lower(): kind for own, kind in types.items()}
        return {column: lower[column.lower()] for column in self._policy.tables[name].columns}

    def check_table(self, name: str, progress: Callable[[str], None]) -> TableCheck:
        progress(f"checking {name}")
        table = self._policy.tables[name]
        columns = self._make_forms(name)
        row: dict[str, Any] = {}
        for statement in write_profiles(self._find_relation(name), columns):
            row |= self._count(statement, self._texts.get(name))[0]
        profiles, rows = parse_profiles(columns, row), int(row["rows"])
        commonest = self._list_commonest(name, columns, profiles)
        people = self._check_people(name, rows)
        bias = self._measure_bias(name, profiles, people, rows)
        unread = self._count_unread_rows(name, rows)
        checked = [
            self._check_column(
                name, column, rows, profiles[column], commonest.get(column, ()), bias.get(column)
            )
            for column in table.columns
        ]
        return TableCheck(
            name=name,
            rows=rows,
            unread=unread,
            people=people,
            columns=tuple(checked),
            findings=tuple(list_table_findings(rows, unread, people, self._policy.at_most)),
            is_live=name in self._live,
        )

    def _make_forms(self, name: str) -> dict[str, tuple[Column, ColumnForm]]:
        """Return the declared columns of a table, each with how its source has it."""
        entries = self._policy.tables[name].columns.items()
        if name not in self._texts:
            return {
                column: (entry, ColumnForm.from_column(column, self._types[name][column]))
                for column, entry in entries
            }
        types, options = self._texts[name].column_types(name), self._policy.tables[name].csv or CsvOptions()
        is_tight = options.trim and not self._texts[name].has_padded_values(name)
        return {
            column: (
                entry,
                ColumnForm.from_text(column, types[column], is_trimmed=options.trim, is_tight=is_tight),
            )
            for column, entry in entries
        }

    def _find_relation(self, name: str) -> str:
        return name_text_view(name) if name in self._texts else quote_identifier(name)

    def _count(self, statement: str, publisher: Publisher | None = None) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (publisher or self._publisher).count(statement).secret.to_pylist()
        return rows

    def _check_column(
        self,
        table: str,
        name: str,
        rows: int,
        profile: ColumnProfile,
        commonest: tuple[CommonText, ...],
        bias: Bias | None,
    ) -> ColumnCheck:
        entry = self._policy.tables[table]
        link = self._check_link(table, name) if name in entry.links else None
        context = ColumnContext(
            table=table,
            name=name,
            column=entry.columns[name],
            rows=rows,
            profile=profile,
            commonest=commonest,
            link=link,
            at_most=self._policy.at_most,
            csv=(entry.csv or CsvOptions()) if table in self._texts else None,
        )
        return ColumnCheck(
            name=name,
            column=entry.columns[name],
            rows=rows,
            profile=profile,
            findings=tuple(list_findings(context)),
            commonest=commonest,
            link=link,
            bias=bias,
        )

    def _list_commonest(
        self,
        name: str,
        columns: Mapping[str, tuple[Column, ColumnForm]],
        profiles: Mapping[str, ColumnProfile],
    ) -> dict[str, tuple[CommonText, ...]]:
        """Return the commonest unfitting texts of each column that has some; one pass over the table."""
        wrong = {
            column: form
            for column, form in columns.items()
            if profiles[column].unreadable or profiles[column].undeclared
        }
        if not wrong:
            return {}
        found: dict[str, list[CommonText]] = {column: [] for column in wrong}
        listed = list(wrong)
        for row in self._count(write_commonest(self._find_relation(name), wrong), self._texts.get(name)):
            found[listed[row["place"]]].append(CommonText(text=row["text"], rows=int(row["n"])))
        return {column: add_nearest(columns[column][0], texts) for column, texts in found.items()}

    def _check_people(self, name: str, rows: int) -> PeopleCheck | None:
        table = self._policy.tables[name]
        if not table.has_person_key:
            return None
        (row,) = self._count(write_people_counts(self._policy, name, self._types))
        return PeopleCheck(
            people=int(row["people"]),
            bound=table.rows_per_person,
            over=int(row["over"] or 0),
            left_out=int(row["left_out"] or 0),
            most=int(row["most"] or 0),
            # a row whose key belongs to several people counts for each of them
            unnamed=max(0, rows - int(row["rows"] or 0)),
        )

    def _measure_bias(
        self, name: str, profiles: Mapping[str, ColumnProfile], people: PeopleCheck | None, rows: int
    ) -> dict[str, Bias]:
        """Return the bias of each bounded number that clamping or bounding changes."""
        table = self._policy.tables[name]
        numbers = list_bounded_numbers(self._policy, name)
        kept: dict[str, Any] = {}
        if people is not None and (people.left_out or people.unnamed):
            statement = write_bounded_sums(self._policy, name, self._types)
            kept = {} if statement is None else self._count(statement)[0]
        found: dict[str, Bias] = {}
        for place, column in enumerate(numbers):
            profile, step = profiles[column], float(table.columns[column].grid_step)
            count = rows - profile.missing - profile.unreadable
            total, after, left = profile.total, profile.total - profile.excess, float(count)
            if kept:
                after, left = int(kept[f"s{place}"] or 0), int(kept[f"c{place}"] or 0) / COUNT_SCALE
            if kept or profile.excess:
                found[column] = Bias(count=(count, left), sum=(total * step, after * step))
        return found

    def _check_link(self, table: str, column: str) -> LinkCheck:
        (row,) = self._count(write_link_counts(self._policy, table, column, self._types))
        link = self._policy.tables[table].links[column]
        return LinkCheck(table=link.table, keyed=int(row["keyed"]), unmatched=int(row["unmatched"] or 0))

    def _count_unread_rows(self, name: str, rows: int) -> UnreadRows:
        unread = self._texts[name].count_unread_rows(name, rows) if name in self._texts else UnreadRows()
        if unread.count:
            lines = ", ".join(f"{file}:{line}" for file, line in unread.lines[:MAX_LOGGED_LINES])
            more = ", …" if unread.count > MAX_LOGGED_LINES else ""
            CUSTODIAN_LOG.warning("table %s: %s rows are not read: %s%s", name, unread.count, lines, more)
        return unread
