"""Terminal and JSON output of `anonymize`: a release and its risks, a list of generalizations, a check.

Figures are computed from the real table, and are for the custodian only.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.risk.reidentification_risk import Uniqueness, assess_risks, estimate_uniqueness
from discreet.anonymity.search import GeneralizationList
from discreet.anonymity.utility.utility_measures import measure_granularity, measure_loss
from discreet.belief.wording import format_count, format_number, format_percent
from discreet.rendering.attack_view import print_attacks
from discreet.rendering.terminal import build_facts, build_plain_table
from discreet.services.anonymize.model_check import ModelCheck
from discreet.services.anonymize.release import Release
from discreet.services.attack.evaluation import AttackEvaluation

EXAMPLES = 3
Row = tuple[str, str, str]


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
        "risk": risk_to_json(release),
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


def _render_columns(release: Release) -> Table:
    table = build_plain_table("quasi-identifier", "level", "for example")
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
    return build_facts(list_figures(release))


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
    table = build_plain_table("risk of being matched to a row", "before", "after")
    for row in list_risk_rows(release):
        table.add_row(*row)
    return table


def list_risk_rows(release: Release) -> list[Row]:
    """Return rows of a description, the figure before, and the figure after."""
    before, after = assess_risks(release.classes_before), assess_risks(release.classes)
    pairs = [
        ("highest, if known to be in the table (prosecutor)", before.prosecutor, after.prosecutor),
        ("highest, if not known (journalist)", before.journalist, after.journalist),
    ]
    found = [(name, format_percent(one.highest), format_percent(two.highest)) for name, one, two in pairs]
    found.append(("average (marketer)", format_percent(before.marketer), format_percent(after.marketer)))
    found.append(
        (
            "share of people above 20%",
            format_percent(before.prosecutor.at_risk),
            format_percent(after.prosecutor.at_risk),
        )
    )
    return found + _list_uniqueness_rows(release)


def risk_to_json(release: Release) -> dict[str, object]:
    """Return the figures for JSON."""
    return {
        "before": _figures_to_json(release.classes_before, release.fraction),
        "after": _figures_to_json(release.classes, release.fraction),
    }


def class_risk_to_json(classes: EquivalenceClasses) -> dict[str, float]:
    """Return the risks of some classes under the three attackers."""
    found = assess_risks(classes)
    return {
        "prosecutor_highest": found.prosecutor.highest,
        "prosecutor_average": found.prosecutor.success,
        "journalist_highest": found.journalist.highest,
        "marketer": found.marketer,
        "at_risk": found.prosecutor.at_risk,
    }


def _figures_to_json(classes: EquivalenceClasses, fraction: float | None) -> dict[str, object]:
    alone = estimate_uniqueness(classes, fraction or 1.0)
    estimates = {"zayatz": alone.zayatz, "pitman": alone.pitman, "snb": alone.snb}
    return {
        **class_risk_to_json(classes),
        "unique": alone.sample,
        "unique_in_population": None if fraction is None else estimates,
    }


def _list_uniqueness_rows(release: Release) -> list[Row]:
    """Return the number of people with unique quasi-identifiers, here and (estimated) in the population."""
    fraction = release.fraction
    one, two = (
        estimate_uniqueness(each, fraction or 1.0) for each in (release.classes_before, release.classes)
    )
    found = [("alone with their quasi-identifiers", f"{one.sample:,}", f"{two.sample:,}")]
    if fraction is not None:
        found += [
            (
                f"alone in the population, by estimate ({name})",
                _format_estimate(one, key),
                _format_estimate(two, key),
            )
            for name, key in (("Zayatz", "zayatz"), ("Pitman", "pitman"))
        ]
    return found


def _format_estimate(found: Uniqueness, key: str) -> str:
    return format_number(float(getattr(found, key)))


def minimal_to_json(listed: GeneralizationList) -> dict[str, object]:
    """Return every minimal generalization as a JSON object."""
    search = listed.search
    return {
        "minimal": _nodes_to_json(listed),
        "valid": search.valid,
        "nodes": search.nodes,
        "all": search.proven,
    }


def best_to_json(listed: GeneralizationList) -> dict[str, object]:
    """Return the generalizations with least loss as a JSON object."""
    search = listed.search
    return {"top": _nodes_to_json(listed), "nodes": search.nodes, "proven": search.proven}


def print_minimal(console: Console, listed: GeneralizationList) -> None:
    """Print every minimal generalization, best first."""
    found = listed.search
    console.print(_render_listing(listed))
    all_of = "all" if found.proven else "those found in time"
    valid = "" if found.valid is None else f"; {found.valid:,} of {found.nodes:,} generalizations are valid"
    console.print(f"\n{len(found.solutions):,} minimal generalizations, {all_of}{valid}", highlight=False)


def print_best(console: Console, listed: GeneralizationList) -> None:
    """Print the generalizations with least loss, best first."""
    found = listed.search
    console.print(_render_listing(listed))
    proof = "none of the others loses less" if found.proven else "not proven best: too many for the time"
    console.print(f"\n{len(found.solutions):,} of {found.nodes:,} generalizations; {proof}", highlight=False)
    levels = zip(listed.columns, found.solutions[0].levels, strict=True)
    options = " ".join(f"--level {name}={level}" for name, level in levels if level)
    console.print(f"To publish one, name its levels: {options or '--level COLUMN=0'}", highlight=False)


def _nodes_to_json(listed: GeneralizationList) -> list[dict[str, object]]:
    return [
        {
            "levels": dict(zip(listed.columns, each.levels, strict=True)),
            "loss": each.loss,
            "suppressed": each.suppressed,
            "classes": each.classes,
        }
        for each in listed.search.solutions
    ]


def _render_listing(listed: GeneralizationList) -> Group:
    """Return a table with levels as one word, so that no figure is cut on a narrow console."""
    table = build_plain_table()
    for heading in ("loss", "left out", "classes"):
        table.add_column(heading, no_wrap=True)
    table.add_column("levels", overflow="fold")
    for each in listed.search.solutions:
        figures = (f"{each.loss:.4f}", f"{each.suppressed:,}", f"{each.classes:,}")
        table.add_row(*figures, ",".join(map(str, each.levels)))
    return Group(table, Text(f"\nlevels of {', '.join(listed.columns)}"))


def print_check(console: Console, checked: ModelCheck) -> None:
    """Print the verdicts, then the strongest parameters."""
    console.print(
        f"{checked.rows:,} in {format_count(len(checked.classes), 'class', 'classes')}\n", highlight=False
    )
    if checked.verdicts:
        table = build_plain_table("model", "holds", "margin")
        for model, each in checked.verdicts:
            holds = Text("yes", "green") if each.holds else Text("no", "red")
            table.add_row(Text(model.name), holds, format_number(each.margin))
        console.print(table)
        console.print()
        _print_worst_classes(console, checked)
    table = build_plain_table("the strongest that holds", "column", "value")
    for told in checked.strongest:
        value = format_number(told.value) if math.isfinite(told.value) else "none"
        table.add_row(told.meaning, Text(told.column or ""), value)
    console.print(table)


def _print_worst_classes(console: Console, checked: ModelCheck) -> None:
    """Print the worst class of each model, with its labels."""
    console.print("worst classes, for the custodian alone:", style="bold")
    for (model, each), labels in zip(checked.verdicts, checked.labels, strict=True):
        size = int(checked.classes.sizes[each.place])
        shared = ", ".join(f"{name} {label or '(missing)'}" for name, label in labels.items())
        text = f"  {model.name}: {size:,} with {shared}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    console.print()
