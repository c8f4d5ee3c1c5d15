"""How a release looks on a console, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from discreet.anonymity.risk.attackers import Risks, risks
from discreet.anonymity.search import Found
from discreet.anonymity.utility.measures import granularity, loss
from discreet.app.anonymizer import Release
from discreet.app.attack_view import attacks_table
from discreet.app.trial import Trial
from discreet.belief.wording import percent

EXAMPLES = 3


def as_object(release: Release) -> dict[str, object]:
    """What `--json` prints."""
    found = release.found
    levels = release.recoding.levels
    return {
        "levels": None if levels is None else dict(zip(release.subject.quasi, levels, strict=True)),
        "loss": loss(release.tuples, release.hierarchies, release.recoding),
        "granularity": granularity(release.tuples, release.hierarchies, release.recoding),
        "objective": release.goal.objective.name,
        "objective_value": None if found is None or found.best is None else found.best.loss,
        "optimal": bool(found and found.proven),
        "nodes": None if found is None else {"checked": found.checked, "all": found.nodes},
        "suppressed": release.suppressed,
        "classes": len(release.classes),
        "unit": "row" if release.subject.person is None else "person",
        "models": [
            {"name": model.name, "belief": model.belief, "not_stopped": list(model.not_stopped)}
            for model in release.goal.models
        ],
        "risk": {"before": _risk(risks(release.before)), "after": _risk(risks(release.classes))},
        "seconds": round(release.seconds, 3),
    }


def _risk(found: Risks) -> dict[str, float]:
    return {
        "prosecutor_highest": found.prosecutor.highest,
        "prosecutor_average": found.prosecutor.success,
        "journalist_highest": found.journalist.highest,
        "marketer": found.marketer,
        "at_risk": found.prosecutor.at_risk,
    }


def show(console: Console, release: Release, written: list[Path], trial: Trial) -> None:
    """Columns, figures, risk before and after, beliefs, what attacks find, warnings."""
    console.print(_columns(release))
    console.print()
    console.print(_figures(release))
    console.print()
    console.print(_risks(release))
    console.print()
    for model in release.goal.models:
        console.print(f"[bold]{model.name}[/bold]  {model.belief}", highlight=False)
        console.print(f"  not stopped: {', '.join(model.not_stopped) or 'nothing named'}", style="dim")
    console.print("\nAttacked by who knows everybody's quasi-identifiers:", style="bold")
    console.print(attacks_table(trial))
    console.print(
        "\nThis holds against who knows everybody's quasi-identifiers and nothing else. It is not "
        "differentially private: with other knowledge or another release more can be believed.",
        style="yellow",
        highlight=False,
    )
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False)


def show_minimal(console: Console, listed: tuple[Found, tuple[str, ...]], *, as_json: bool) -> None:
    """Every minimal generalization, best first."""
    found, columns = listed
    if as_json:
        nodes = [
            {
                "levels": dict(zip(columns, each.levels, strict=True)),
                "loss": each.loss,
                "suppressed": each.suppressed,
                "classes": each.classes,
            }
            for each in found.solutions
        ]
        print(json.dumps({"minimal": nodes, "valid": found.valid, "nodes": found.nodes, "all": found.proven}))
        return
    table = _plain()
    for heading in (*columns, "loss", "left out", "classes"):
        table.add_column(heading)
    for each in found.solutions:
        figures = (f"{each.loss:.4f}", f"{each.suppressed:,}", f"{each.classes:,}")
        table.add_row(*map(str, each.levels), *figures)
    console.print(table)
    all_of = "all" if found.proven else "those found in time"
    valid = "" if found.valid is None else f"; {found.valid:,} of {found.nodes:,} generalizations are valid"
    console.print(f"\n{len(found.solutions):,} minimal generalizations, {all_of}{valid}", highlight=False)


def _plain() -> Table:
    return Table(box=None, header_style="bold", padding=(0, 3, 0, 0))


def _columns(release: Release) -> Table:
    table = _plain()
    for heading in ("quasi-identifier", "level", "for example"):
        table.add_column(heading)
    levels = release.recoding.levels
    for place, hierarchy in enumerate(release.hierarchies):
        level = "by tuple" if levels is None else f"{levels[place]} of {hierarchy.height}"
        labels = release.recoding.labels[place]
        shown = ", ".join(labels[:EXAMPLES]) + (", …" if len(labels) > EXAMPLES else "")
        table.add_row(release.subject.quasi[place], level, shown or "–")
    return table


def _figures(release: Release) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column()
    rows, out = release.tuples.rows, release.suppressed
    unit = "rows" if release.subject.person is None else "people"
    classes = release.classes
    facts = [
        ("published", f"{rows - out:,} of {rows:,} {unit} in {len(classes):,} classes"),
        (
            "left out",
            f"{out:,} {unit} ({percent(out / rows)}; limit {percent(float(release.goal.suppress))})",
        ),
        ("loss", f"{loss(release.tuples, release.hierarchies, release.recoding):.4f}"),
        ("kept detail", percent(granularity(release.tuples, release.hierarchies, release.recoding))),
    ]
    plain = [name for name in release.columns if name not in release.subject.quasi]
    if plain:
        facts.append(("as they are", ", ".join(plain)))
    if release.found is not None:
        found = release.found
        proof = "the best of all" if found.proven else "not proven best: the search was cut short"
        facts.append(("search", f"{proof}; {found.checked:,} of {found.nodes:,} generalizations judged"))
    for name, text in facts:
        grid.add_row(name, text)
    return grid


def _risks(release: Release) -> Table:
    table = _plain()
    for heading in ("risk of being matched to a row", "before", "after"):
        table.add_column(heading)
    before, after = risks(release.before), risks(release.classes)
    pairs = [
        (
            "highest, if known to be in the table (prosecutor)",
            before.prosecutor.highest,
            after.prosecutor.highest,
        ),
        ("highest, if not known (journalist)", before.journalist.highest, after.journalist.highest),
        ("average (marketer)", before.marketer, after.marketer),
        ("share of people above 20%", before.prosecutor.at_risk, after.prosecutor.at_risk),
    ]
    for name, one, two in pairs:
        table.add_row(name, percent(one), percent(two))
    return table
