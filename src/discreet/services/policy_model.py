"""The policy as Python programs build it: from values, from a file, or as a draft from the rows themselves.

Draft       names, types and roles come from the schema, as in `discreet init`. Bounds and values never come
            from the data: what must be filled in is marked, and a policy with marks is refused wherever it is
            used. `fill` fills it in; or `save` writes it with a `?` for each mark, to be edited.
Saved       as a policy file, in which paths are relative to its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr, ValidationError, model_validator

from discreet.core import policy as core_policy
from discreet.core.column_entry import Column
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.output_files import write_output
from discreet.services.frame_tables import describe_frame, match_frame_patterns
from discreet.services.frames import Frame, require_frame
from discreet.services.policies import find_policy_problems, load_policy
from discreet.services.policy_draft.draft_sources import SourceTable, find_file_tables
from discreet.services.policy_draft.table_drafts import TableDraft, draft_tables, format_policy
from discreet.services.policy_errors import find_nearest_name
from discreet.services.policy_text import format_policy_text
from discreet.services.policy_values import (
    DEFAULT_PROMISE,
    Columns,
    PromiseForm,
    expand_column,
    expand_policy,
    expand_promise,
    format_policy_errors,
    format_problems,
    validate_policy,
)

FRAME_NAME = "df"


class Policy(core_policy.Policy):
    """Everything that a custodian declares about tables: the promise, people, bounds, values and roles.

    The arguments are the entries of a policy file; columns have short forms, as in `discreet.ask`.

    >>> columns = {"age": (17, 90), "sex": ["Female", "Male"], "pay": (0, 5000, 0.01), "smoker": bool}
    >>> policy = Policy(promise=("1%", "5%"), tables={"people": {"columns": columns}})
    >>> policy.tables["people"].columns["pay"].resolution
    Decimal('0.01')
    """

    _blanks: tuple[tuple[str, str], ...] = PrivateAttr(default=())
    _text: str = PrivateAttr(default="")

    def __init__(
        self,
        *,
        tables: Mapping[str, Any],
        promise: PromiseForm | None = None,
        **entries: Any,
    ) -> None:
        values = {"tables": tables, "promise": promise, **entries}
        try:
            super().__init__(**values)
        except ValidationError as error:
            sentences = format_policy_errors(error, expand_policy(values))
        else:
            sentences = format_problems(find_policy_problems(self))
        if sentences:
            raise RequestError(sentences)

    @model_validator(mode="before")
    @classmethod
    def _expand_short_forms(cls, values: Any) -> Any:
        return expand_policy(values)

    def __repr__(self) -> str:
        return f"<Policy draft: fill in {', '.join(self.blanks)}>" if self._blanks else super().__repr__()

    __str__ = __repr__

    @property
    def blanks(self) -> tuple[str, ...]:
        """The entries of a draft that must be filled in, such as `people.age (low, high)`."""
        return tuple(f"{place} ({lacks})" if lacks else place for place, lacks in self._blanks)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the policy of a file; its paths become absolute. Rows that it names no source for are passed
        in: `Curator(policy, tables={…})`.
        """
        return cls._from_policy(load_policy(Path(path), tables=None))

    @classmethod
    def draft(cls, rows: Frame | Path | str | Mapping[str, Frame | Path | str]) -> Self:
        """Propose a policy for a frame or a file, or for several by name; bounds and values are left open.

        >>> import pyarrow as pa
        >>> Policy.draft(pa.table({"age": [34], "smoker": [True]}))
        <Policy draft: fill in df.person, df.rows_per_person, df.age (low, high)>
        """
        given = rows if isinstance(rows, Mapping) else {None: rows}
        tables = draft_tables(
            [found for name, each in given.items() for found in _list_source_tables(name, each)]
        )
        values = {
            "promise": DEFAULT_PROMISE,
            "tables": {table.name: _list_entries(table) for table in tables},
        }
        made = cls._from_policy(validate_policy(values))
        made._blanks = tuple(blank for table in tables for blank in _list_blanks(table))
        made._text = format_policy(tables)
        return made

    def fill(
        self,
        columns: Columns | None = None,
        *,
        table: str | None = None,
        person: str | None = None,
        rows_per_person: int | None = None,
        promise: PromiseForm | None = None,
    ) -> Self:
        """Return the policy with entries of one table filled in; None as a column leaves it out.

        >>> import pyarrow as pa
        >>> draft = Policy.draft(pa.table({"age": [34], "note": ["-"]}))
        >>> draft.fill({"age": (17, 90), "note": None}, person="row")
        <Policy of df: promise 1% → 5%>
        """
        name = self._choose_table(table)
        values: dict[str, Any] = self.model_dump(exclude_unset=True, by_alias=True)
        entries = values["tables"][name]
        for column, form in (columns or {}).items():
            if column not in entries["columns"]:
                meant = find_nearest_name(column, entries["columns"])
                raise InvalidParameterError(
                    f"`columns=`: table {name} has no column {column}.",
                    hint=f"Did you mean {meant}?" if meant else f"It has {', '.join(entries['columns'])}.",
                )
            made = expand_column(column, {} if form is None else form)
            made = made.model_dump(exclude_unset=True, by_alias=True) if isinstance(made, Column) else made
            entries["columns"][column] = entries["columns"][column] | made
            if form is None:
                del entries["columns"][column]
        given = {"person": person, "rows_per_person": rows_per_person}
        if person == "row":
            given["rows_per_person"] = 1
        entries |= {key: value for key, value in given.items() if value is not None}
        if promise is not None:
            values["promise"] = expand_promise(promise)
        filled = type(self)._from_policy(validate_policy(values, prefix=("tables", name)))
        done = {
            f"{name}.{each}" for each in (*(columns or {}), *(key for key, value in given.items() if value))
        }
        filled._blanks = tuple(blank for blank in self._blanks if blank[0] not in done)
        return filled

    def save(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the policy to a file, in which an open draft has a ? for each entry to fill in."""
        place = Path(path)
        if place.exists() and not force:
            raise RequestError(f"{place} exists already.", hint="Add `force=True`, or choose another file.")
        text = (
            self._text if self._blanks and self._text else format_policy_text(self, place.absolute().parent)
        )
        write_output(place, text)
        return place

    def _choose_table(self, table: str | None) -> str:
        if table is None and len(self.tables) == 1:
            return next(iter(self.tables))
        if table not in self.tables:
            raise InvalidParameterError(
                f"`table=` must be one of {', '.join(self.tables)}; got {table or 'none'}."
            )
        return table

    @classmethod
    def _from_policy(cls, policy: core_policy.Policy) -> Self:
        fields = {name: getattr(policy, name) for name in core_policy.Policy.model_fields}
        return cls.model_construct(_fields_set=set(policy.model_fields_set), **fields)


def _list_source_tables(name: str | None, rows: object) -> list[SourceTable]:
    """Return the tables of a frame or of a file."""
    if isinstance(rows, str | Path):
        return find_file_tables([str(rows)], Path.cwd())
    frame = require_frame(rows)
    return [
        SourceTable(
            name=name or FRAME_NAME,
            display_name="the frame",
            source="",
            columns=tuple(describe_frame(frame)),
            match_shares=lambda columns: match_frame_patterns(frame, columns),
        )
    ]


def _list_entries(table: TableDraft) -> dict[str, Any]:
    entries: dict[str, Any] = {
        "columns": {
            column.name: {"type": column.kind, "role": column.role}
            | ({} if column.source_name is None else {"from": column.source_name})
            for column in table.columns
        }
    }
    return entries | ({"source": table.source_table.source} if table.source_table.source else {})


def _list_blanks(table: TableDraft) -> list[tuple[str, str]]:
    """Return the entries of a table that a person must decide, each with what it lacks."""
    return [
        *((f"{table.name}.{entry}", "") for entry in ("person", "rows_per_person")),
        *(
            (f"{table.name}.{column.name}", ", ".join(column.open_entries))
            for column in table.columns
            if column.open_entries
        ),
    ]
