"""`discreet hierarchy`: show, export or check the generalization hierarchy of a column."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from discreet.anonymity.hierarchies import hierarchy_to_csv
from discreet.cli.shared_options import (
    DEFAULT_POLICY,
    EngineOption,
    JsonOption,
    PolicyOption,
    require_one_format,
)
from discreet.core.errors import RequestError
from discreet.rendering.hierarchy_view import format_sql_expressions, preview_to_json, show_hierarchy
from discreet.rendering.terminal import Console
from discreet.services.hierarchy_preview import HierarchyPreview, preview_hierarchy, read_distinct_values
from discreet.services.policies import load_policy


def run(
    name: Annotated[str, typer.Argument(help="A column, TABLE.COLUMN, or a hierarchy of the policy.")],
    policy: PolicyOption = DEFAULT_POLICY,
    engine: EngineOption = None,
    uncovered: Annotated[
        bool,
        typer.Option("--uncovered", help="Read the data; list the values that the hierarchy does not cover."),
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="ARX's format on stdout: value;level 1;…")] = False,
    as_sql: Annotated[bool, typer.Option("--sql", help="SELECT expressions, one for each level.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show or export the hierarchy of a column, or check it.

    With --uncovered it reads the data, and lists the values that the hierarchy does not cover.
    """
    require_one_format(as_csv=as_csv, as_sql=as_sql, as_json=as_json)
    terms = load_policy(policy, engine=engine)
    shown = preview_hierarchy(terms, name)
    if uncovered:
        _print_uncovered(shown, terms.engine, as_json=as_json)
    elif as_json:
        print(json.dumps(preview_to_json(shown)))
    elif as_csv:
        _require_complete(shown)
        print(hierarchy_to_csv(shown.hierarchy), end="")
    elif as_sql:
        _require_complete(shown)
        print(format_sql_expressions(shown))
    else:
        show_hierarchy(Console(), shown)


def _require_complete(shown: HierarchyPreview) -> None:
    if not shown.is_complete:
        raise RequestError(
            f"hierarchy: {shown.spec.name} has too many values to list, or they are not declared.",
            hint="Declare the column's values in the policy.",
        )


def _print_uncovered(shown: HierarchyPreview, address: str, *, as_json: bool) -> None:
    if shown.table is None or shown.column is None or shown.table_entry is None:
        raise RequestError(
            f"hierarchy: no column of the policy has the hierarchy {shown.spec.name}.",
            hint="Name a column, or TABLE.COLUMN.",
        )
    values = read_distinct_values(shown.table, shown.table_entry, shown.column, address)
    missing = any(not value for value in values) and bool(shown.spec.find_uncovered([""]))
    lacking = shown.spec.find_uncovered([value for value in values if value])
    if as_json:
        print(json.dumps({"uncovered": lacking, "missing": missing}))
        return
    for value in lacking:
        print(value)
    end = "; some rows have no value" if missing else ""
    Console(stderr=True, soft_wrap=True).print(
        f"{len(lacking)} of {len(values)} values are not covered{end}.", markup=False, highlight=False
    )
