"""Output of a private release: certificate, console, JSON and the custodian's report."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from discreet.anonymity.classes import Classes
from discreet.app.documents import Document, Grid, Paragraph, Section
from discreet.app.publishing.exposure import warnings
from discreet.app.publishing.private_release import PrivateRelease
from discreet.app.publishing.risk import of_classes
from discreet.app.publishing.view import plain
from discreet.belief import belief
from discreet.belief.wording import at_most, chance, how_many, number, percent

PRIOR = 0.01
WIDER = 10
CONDITION = (
    "This holds if the levels were declared without looking at the data: a level that was chosen by looking "
    "at the data discloses something about it."
)
NOTICE = (
    "For the custodian only. The number of rows is computed from the real table; publish the release and its "
    "certificate, not this report."
)


def guarantee_text(release: PrivateRelease) -> str:
    """Return a sentence on the belief that the release allows an attacker."""
    guarantee = release.mechanism.guarantee
    rarely = WIDER * float(guarantee.delta)
    after = belief(PRIOR, guarantee, tail=rarely).highest
    return (
        f"(epsilon {number(float(guarantee.epsilon))}, delta {float(guarantee.delta):.2g})-differentially "
        f"private for added and removed people: for a person in the table, an attacker who was at most "
        f"{percent(PRIOR)} sure of that becomes more than {at_most(after)} sure with a chance of at most "
        f"{chance(rarely)}."
    )


def certificate(release: PrivateRelease) -> dict[str, object]:
    """Return the public certificate: parameters and their consequences."""
    made = release.mechanism
    return {
        "kind": "differentially private generalization",
        "table": release.name,
        "unit": "row" if release.table.person == "row" else "person",
        "method": "private",
        "columns": {
            name: {
                "published": f"level {release.levels[name]}" if name in release.levels else "left out",
                "role": column.role.value,
            }
            for name, column in release.table.columns.items()
        },
        "relation": made.guarantee.relation.value,
        "epsilon": float(made.epsilon),
        "delta": float(made.guarantee.delta),
        "sampling": float(made.beta),
        "k": made.k,
        "attacker": "knows all other records, or takes records as independent",
        "belief": guarantee_text(release),
        "limits": CONDITION,
        "attacks_run": [],
    }


def as_object(release: PrivateRelease) -> dict[str, object]:
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
        "published": release.published,
        "suppressed": release.rows - release.published,
        "classes": len(sizes),
        "models": [],
        "belief": release.sentence or guarantee_text(release),
        "entry": release.entry,
        "risk": {"after": of_classes(Classes(sizes=sizes, rows=int(sizes.sum())))},
        "warnings": warnings(release.table, release.as_they_are),
        "seconds": round(release.seconds, 3),
    }


def show(console: Console, release: PrivateRelease) -> None:
    """Print the levels, the figures, and the belief that the release allows."""
    table = plain()
    for heading in ("column", "level"):
        table.add_column(heading)
    for each in release.columns:
        table.add_row(Text(each.name), f"{each.level} of {each.height}")
    console.print(table)
    console.print()
    grid = plain()
    grid.show_header = False
    for name, text in _facts(release):
        grid.add_row(Text(name, "bold"), Text(text))
    console.print(grid)
    console.print()
    console.print(Text(guarantee_text(release)))
    if release.sentence:
        console.print(Text(release.sentence))
    console.print(Text(CONDITION, "yellow"))


def report(release: PrivateRelease) -> Document:
    """Return the custodian's report."""
    rows = tuple((each.name, f"{each.level} of {each.height}") for each in release.columns)
    believed = [Paragraph(text=text) for text in (guarantee_text(release), release.sentence) if text]
    sections = (
        Section(
            title="What is published",
            parts=(
                Grid(head=("", ""), rows=tuple(_facts(release))),
                Grid(head=("column", "level"), rows=rows),
            ),
        ),
        Section(
            title="What an attacker may come to believe",
            parts=(*believed, Paragraph(text=CONDITION, tone="bad")),
        ),
    )
    return Document(title=f"{release.name}: a private release", notice=NOTICE, sections=sections)


def _facts(release: PrivateRelease) -> list[tuple[str, str]]:
    made = release.mechanism
    facts = [
        (
            "published",
            f"{release.published:,} of {release.rows:,} in "
            f"{how_many(len(release.sizes), 'class', 'classes')}",
        ),
        ("sampled", f"each with probability {number(float(made.beta))}; classes below {made.k:,} left out"),
    ]
    if release.entry is not None:
        facts.append(("cost", f"epsilon {number(float(made.epsilon))} (entry {release.entry})"))
    return facts
