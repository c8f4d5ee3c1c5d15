"""A policy as the text of its file, with one line for each column."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

from discreet.core.policy import Policy
from discreet.services.addresses import remove_password
from discreet.services.policy_draft.table_drafts import quote_scalar
from discreet.services.session_ledger import is_session_ledger

PATHS = ("ledger", "ledger_mark", "store")


def format_policy_text(policy: Policy, folder: Path, *, keeps_defaults: bool = False) -> str:
    """Return the text of a policy whose file is in a folder.

    Entries that have their default are left out, or with `keeps_defaults` those that were never set.
    """
    entries = policy.model_dump(
        exclude_defaults=not keeps_defaults, exclude_unset=keeps_defaults, by_alias=True
    )
    if is_session_ledger(policy.ledger):
        del entries["ledger"]
    if "engine" in entries:
        entries["engine"] = remove_password(entries["engine"])
    for name in PATHS:
        if name in entries:
            entries[name] = _make_relative(entries[name], folder)
    lines = []
    for name, entry in entries.items():
        if name == "tables":
            continue
        nested = isinstance(entry, Mapping) and name != "promise"
        lines += [f"{name}:", *_format_lines(entry, 2)] if nested else [f"{name}: {format_value(entry)}"]
    return "\n".join([*lines, "tables:", *format_tables(entries["tables"], folder), ""])


def format_tables(tables: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the lines of tables in a policy, with one line for each column."""
    lines = []
    for name, table in tables.items():
        lines.append(f"  {name}:")
        for entry, value in table.items():
            if entry == "columns":
                lines += ["    columns:", *_format_lines(value, 6)]
            else:
                shown = _make_relative(value, folder) if entry == "source" else value
                lines.append(f"    {entry}: {format_value(shown)}")
    return lines


def _format_lines(entries: Mapping[str, Any], indent: int) -> list[str]:
    return [
        f"{' ' * indent}{quote_scalar(str(name))}: {format_value(value)}" for name, value in entries.items()
    ]


def format_value(value: Any) -> str:
    """Return a value of a policy as YAML on one line."""
    if isinstance(value, Enum):
        value = value.value
    for kinds, write in WRITERS:
        if isinstance(value, kinds):
            return write(value)
    return repr(value)


WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (bool, lambda value: str(value).lower()),
    (type(None), lambda _: "null"),
    (str, quote_scalar),
    (date, lambda value: str(value.isoformat())),
    (Decimal, lambda value: f"{value:f}"),
    (Mapping, lambda value: f"{{{', '.join(_format_lines(value, 0))}}}"),
    (Sequence, lambda value: f"[{', '.join(map(format_value, value))}]"),
)


def _make_relative(text: str, folder: Path) -> str:
    return os.path.relpath(text, folder) if os.path.isabs(text) else text
