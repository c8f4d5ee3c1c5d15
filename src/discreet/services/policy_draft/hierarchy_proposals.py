"""Proposed hierarchies at the end of a policy draft, for generalizing quasi-identifiers.

They follow from names and types alone; a draft has no bounds and no values yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.policy import ColumnType, Role
from discreet.services.policy_draft.column_roles import contains_word, is_maskable
from discreet.services.yaml_quoting import quote_scalar

HEAD = """
# Proposals, to check: how quasi-identifiers are generalized in a published table. Only `discreet anonymize`
# needs them; `discreet hierarchy COLUMN` shows one. Without an entry, numbers get intervals of equal width
# within their bounds, and categories get runs of their values in the order above.
"""
AGES = "{low: 0, high: 120, widths: [5, 10, 20, 40]}"
GROUPS = '{tree: {"*": {GROUP: [VALUE, VALUE], OTHERS: [VALUE]}}}    # or {csv: FILE}, in ARX\'s format'


def format_hierarchies(columns: Sequence[tuple[str, ColumnType, Role]]) -> str:
    """Return the hierarchy entries for the quasi-identifiers; empty if there are none."""
    found: dict[str, set[str]] = {}
    for name, kind, role in columns:
        found.setdefault(name, set()).add(_propose_entry(name, kind, role))
    # An entry applies to every column of its name; if their types differ, no entry fits all.
    entries = [
        f"  {quote_scalar(name)}: {entry}" for name, (entry, *others) in found.items() if entry and not others
    ]
    groups = [name for name, kind, role in columns if role is Role.QUASI and kind is ColumnType.CATEGORY]
    groups = [name for name in groups if found[name] == {""}][:1]
    lines = ["hierarchies:", *entries, *(f"  # {quote_scalar(name)}: {GROUPS}" for name in groups)]
    if not entries:
        lines = [f"# {line.replace('# ', '', 1)}" for line in lines]
    return "\n".join([HEAD, *lines, ""]).replace("\n\n", "\n") if entries or groups else ""


def _propose_entry(name: str, kind: ColumnType, role: Role) -> str:
    if role is not Role.QUASI:
        return ""
    if kind is ColumnType.DATE:
        return "{dates: [month, year, decade]}"
    if kind is ColumnType.TIMESTAMP:
        return "{dates: [day, month, year, decade]}"
    if kind is ColumnType.INTEGER and contains_word(name, "age"):
        return AGES
    return "{mask: right}" if kind in (ColumnType.TEXT, ColumnType.CATEGORY) and is_maskable(name) else ""
