"""Output of a private release: console, JSON and the custodian's report."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.belief.wording import format_count, format_number
from discreet.rendering.anonymize_view import class_risk_to_json
from discreet.rendering.report_document import Document, Grid, Paragraph, Section
from discreet.rendering.terminal import build_plain_table
from discreet.services.anonymize.exposure import warn_of_columns
from discreet.services.anonymize.private_generalizer import PrivateRelease
from discreet.services.anonymize.release_certificate import CONDITION, describe_guarantee

NOTICE = (
    "For the custodian only. The number of rows is computed from the real table; publish the release and its "
    "certificate, not this report."
)


def private_release_to_json(release: PrivateRelease) -> dict[str, object]:
    """Return the object that `--json` prints."""
    sizes, made = release.sizes, release.mechanism
    return {
        "method": "private",
        "levels": release.levels,
        "loss": None,
        "epsilon": float(made.epsilon),
        "delta": float(made.guarantee.delta),
        "sampling": float(made.beta),
        "k": made.k,
        "published": release.published_rows,
        "suppressed": release.rows - release.published_rows,
        "classes": len(sizes),
        "models": [],
        "belief": release.sentence or describe_guarantee(release),
        "entry": release.entry,
        "risk": {"after": class_risk_to_json(EquivalenceClasses(sizes=sizes, rows=int(sizes.sum())))},
        "warnings": warn_of_columns(release.table, release.unchanged_columns),
        "seconds": round(release.seconds, 3),
    }


def print_private_release(console: Console, release: PrivateRelease) -> None:
    """Print the levels, the figures, and the belief that the release allows."""
    table = build_plain_table("column", "level")
    for each in release.columns:
        table.add_row(Text(each.name), f"{each.level} of {each.height}")
    console.print(table)
    console.print()
    grid = build_plain_table()
    grid.show_header = False
    for name, text in _list_facts(release):
        grid.add_row(Text(name, "bold"), Text(text))
    console.print(grid)
    console.print()
    console.print(Text(describe_guarantee(release)))
    if release.sentence:
        console.print(Text(release.sentence))
    console.print(Text(CONDITION, "yellow"))


def render_private_report(release: PrivateRelease) -> str:
    """Return the custodian's report as HTML."""
    return build_private_report(release).to_html()


def build_private_report(release: PrivateRelease) -> Document:
    """Return the custodian's report."""
    rows = tuple((each.name, f"{each.level} of {each.height}") for each in release.columns)
    believed = [Paragraph(text=text) for text in (describe_guarantee(release), release.sentence) if text]
    sections = (
        Section(
            title="What is published",
            parts=(
                Grid(head=("", ""), rows=tuple(_list_facts(release))),
                Grid(head=("column", "level"), rows=rows),
            ),
        ),
        Section(
            title="What an attacker may come to believe",
            parts=(*believed, Paragraph(text=CONDITION, tone="bad")),
        ),
    )
    return Document(title=f"{release.name}: a private release", notice=NOTICE, sections=sections)


def _list_facts(release: PrivateRelease) -> list[tuple[str, str]]:
    made = release.mechanism
    facts = [
        (
            "published",
            f"{release.published_rows:,} of {release.rows:,} in "
            f"{format_count(len(release.sizes), 'class', 'classes')}",
        ),
        (
            "sampled",
            f"each with probability {format_number(float(made.beta))}; classes below {made.k:,} left out",
        ),
    ]
    if release.entry is not None:
        facts.append(("cost", f"epsilon {format_number(float(made.epsilon))} (entry {release.entry})"))
    return facts
