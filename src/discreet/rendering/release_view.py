"""Console and JSON output of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.anonymity.utility.utility_measures import measure_granularity, measure_loss
from discreet.belief.wording import format_count, format_percent
from discreet.rendering.attack_view import print_attacks
from discreet.services.anonymize import release_risk as anonymize_risk
from discreet.services.anonymize.release import Release
from discreet.services.attack.evaluation import AttackEvaluation

EXAMPLES = 3


def release_to_json(release: Release) -> dict[str, object]:
    """Return the object that `--json` prints."""
    found = release.search_result
    levels = release.recoding.levels or [None] * len(release.source.quasi)
    return {
        "method": release.goal.method.value,
        "levels": dict(zip(release.source.quasi, levels, strict=True)),
        "loss": measure_loss(release.tuples, release.hierarchies, release.recoding),
        "granularity": measure_granularity(release.tuples, release.hierarchies, release.recoding),
        "objective": release.goal.objective.name,
        "objective_value": None if found is None or found.best is None else found.best.loss,
        "optimal": bool(found and found.proven),
        "search": release.search_outcome,
        "nodes": None if found is None else {"checked": found.checked, "all": found.nodes},
        "suppressed": release.suppressed_count,
        "missing": release.missing,
        "classes": len(release.classes),
        "unit": release.unit,
        "models": [
            {
                "name": model.name,
                "belief": release.describe_belief(model),
                "not_stopped": list(model.not_stopped),
            }
            for model in release.goal.models
        ],
        "risk": anonymize_risk.risk_to_json(release),
        "pseudonyms": [each.declaration for each in release.goal.pseudonyms],
        "warnings": release.warnings,
        "seconds": round(release.seconds, 3),
    }


def print_release(
    console: Console, release: Release, written: list[Path | str], evaluation: AttackEvaluation
) -> None:
    """Print columns, figures, risk before and after, beliefs, results of attacks, and warnings."""
    console.print(_render_columns(release))
    console.print()
    console.print(_render_figures(release))
    console.print()
    console.print(_render_risks(release))
    console.print()
    for model in release.goal.models:
        console.print(Text.assemble((model.name, "bold"), f"  {release.describe_belief(model)}"))
        console.print(f"  not stopped: {', '.join(model.not_stopped) or 'nothing named'}", style="dim")
    for each in release.goal.pseudonyms:
        console.print(Text.assemble(("pseudonyms", "bold"), f"  {each.declaration['meaning']}"))
    console.print("\nAttacked with knowledge of everybody's quasi-identifiers:", style="bold")
    print_attacks(console, evaluation)
    console.print(
        "\nThis holds against an attacker who knows everybody's quasi-identifiers and nothing else. It is "
        "not differentially private: with other knowledge or another release an attacker may believe more.",
        style="yellow",
        highlight=False,
    )
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def build_plain_table() -> Table:
    """Return a table without lines."""
    return Table(box=None, header_style="bold", padding=(0, 3, 0, 0))


def _render_columns(release: Release) -> Table:
    table = build_plain_table()
    for heading in ("quasi-identifier", "level", "for example"):
        table.add_column(heading)
    for place, name in enumerate(release.source.quasi):
        table.add_row(
            *map(Text, (name, release.describe_level(place), format_examples(release, place) or "–"))
        )
    return table


def format_examples(release: Release, place: int) -> str:
    """Return some of the labels that a quasi-identifier shows."""
    shown = np.unique(release.recoding.codes[release.recoding.published, place])
    labels = [release.recoding.labels[place][code] or "(missing)" for code in shown[:EXAMPLES].tolist()]
    return ", ".join(labels) + (", …" if len(shown) > EXAMPLES else "")


def _render_figures(release: Release) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column()
    for name, text in list_figures(release):
        grid.add_row(name, Text(text))
    return grid


def list_figures(release: Release) -> list[tuple[str, str]]:
    """Return the facts about a release: what is published, how, and at which loss."""
    rows, out = release.tuples.rows, release.suppressed_count
    unit = "rows" if release.source.person is None else "people"
    classes = release.classes
    facts = [
        ("method", f"{release.goal.method.value}: {release.goal.method.meaning}"),
        (
            "published",
            f"{rows - out:,} of {rows:,} {unit} in {format_count(len(classes), 'class', 'classes')}",
        ),
        (
            "left out",
            f"{out:,} {unit} ({format_percent(out / rows)}; limit "
            f"{format_percent(float(release.goal.suppress))})",
        ),
        ("loss", f"{measure_loss(release.tuples, release.hierarchies, release.recoding):.4f}"),
        (
            "kept detail",
            format_percent(measure_granularity(release.tuples, release.hierarchies, release.recoding)),
        ),
    ]
    if release.missing:
        facts.insert(3, ("missing", f"{release.missing:,} more {unit} lack a value, and are left out"))
    stand_in = [each.column for each in release.goal.pseudonyms]
    plain = [name for name in release.columns if name not in (*release.source.quasi, *stand_in)]
    hidden = [name for name in release.table.columns if name not in release.columns]
    named = (("as they are", plain), ("pseudonyms", stand_in), ("not shown", hidden))
    facts += [(what, ", ".join(names)) for what, names in named if names]
    if release.search_result is not None:
        found = release.search_result
        facts.append(
            (
                "search",
                f"{release.search_outcome}; {found.checked:,} of {found.nodes:,} generalizations judged",
            )
        )
    return facts


def _render_risks(release: Release) -> Table:
    table = build_plain_table()
    for heading in ("risk of being matched to a row", "before", "after"):
        table.add_column(heading)
    for row in anonymize_risk.list_risk_rows(release):
        table.add_row(*row)
    return table
