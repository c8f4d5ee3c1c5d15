"""`make bench`: every figure of the benchmarks, measured side by side in one run, into RESULTS.md and charts.

`python -m benchmarks.run speed utility` measures these sections alone and leaves the others as they stand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    accounting,
    anonymize,
    ask,
    attacks,
    baskets,
    bounds,
    charts,
    check,
    engines,
    exploration,
    ledger,
    local,
    machine,
    mining,
    noise,
    serve,
    speed,
    store,
    synthesis,
    synthesis_peers,
    synthesis_tables,
    utility,
    work,
)
from benchmarks.peers.environments import Progress

RESULTS = Path(__file__).with_name("RESULTS.md")
FIGURES = ("figure", "measured", "bar")
Rows = list[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Section:
    """One table of the report, with what is said before and under it."""

    title: str
    headings: tuple[str, ...]
    measure: Callable[[Progress], tuple[Rows, list[str]]]
    about: str = ""


def _plain(rows: Callable[[], list[tuple[str, str, str]]]) -> Callable[[Progress], tuple[Rows, list[str]]]:
    return lambda progress: ([*rows()], [])


SECTIONS = {
    "noise": Section(title="Exact noise", headings=FIGURES, measure=_plain(noise.rows)),
    "accounting": Section(title="Accounting", headings=FIGURES, measure=_plain(accounting.rows)),
    "ask": Section(title="Private SQL against raw DuckDB", headings=FIGURES, measure=_plain(ask.rows)),
    "engines": Section(
        title="Engines",
        headings=engines.HEADINGS,
        measure=engines.tables,
        about=engines.ABOUT,
    ),
    "speed": Section(
        title="Speed beside other systems",
        headings=speed.HEADINGS,
        measure=lambda progress: (speed.rows(progress), []),
        about=speed.ABOUT,
    ),
    "utility": Section(
        title="Error beside other systems",
        headings=utility.HEADINGS,
        measure=utility.tables,
        about=utility.ABOUT,
    ),
    "anonymize": Section(
        title="Generalization",
        headings=FIGURES,
        measure=lambda progress: ([*anonymize.rows(progress)], []),
    ),
    "local": Section(
        title="Collecting",
        headings=local.HEADINGS,
        measure=lambda progress: (local.rows(progress), local.notes()),
        about=local.ABOUT,
    ),
    "mining": Section(
        title="Models beside other libraries",
        headings=mining.HEADINGS,
        measure=mining.tables,
        about=mining.ABOUT,
    ),
    "bounds": Section(
        title="Learned bounds",
        headings=bounds.HEADINGS,
        measure=lambda progress: (bounds.rows(progress), []),
        about=bounds.ABOUT,
    ),
    "baskets": Section(title="Randomized baskets", headings=FIGURES, measure=_plain(baskets.rows)),
    "attacks": Section(title="Attacks on made-up people", headings=FIGURES, measure=_plain(attacks.rows)),
    "check": Section(title="The check of a table", headings=FIGURES, measure=_plain(check.rows)),
    "serve": Section(title="The PostgreSQL listener", headings=FIGURES, measure=_plain(serve.rows)),
    "store": Section(title="Answers from the store", headings=FIGURES, measure=_plain(store.rows)),
    "sessions": Section(
        title="Exploration sessions",
        headings=exploration.HEADINGS,
        measure=exploration.tables,
        about=exploration.ABOUT,
    ),
    "work": Section(title="Work per person", headings=work.HEADINGS, measure=work.tables, about=work.ABOUT),
    "ledger": Section(
        title="Ledger throughput",
        headings=("figure", "1 client", f"{ledger.CLIENTS} clients"),
        measure=_plain(ledger.rows),
    ),
    "synthesis": Section(title="Synthetic tables", headings=FIGURES, measure=_plain(synthesis.rows)),
    "synthesis_peers": Section(
        title="Synthetic tables by other libraries",
        headings=FIGURES,
        measure=lambda progress: ([*synthesis_peers.rows(progress)], []),
    ),
    "synthesis_tables": Section(
        title="Synthetic tables of other data",
        headings=("figure", "measured", "beside"),
        measure=_plain(synthesis_tables.rows),
    ),
}


def main() -> None:
    chosen = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        sys.exit(f"bench: there is no section {unknown[0]}. Choose from {', '.join(SECTIONS)}.")
    console = Console()
    texts = _texts()
    for name in chosen:
        section = SECTIONS[name]
        with console.status(f"measuring: {section.title} …") as status:
            rows, notes = section.measure(status.update)
        console.print(_shown(section, rows))
        for note in notes:
            console.print(note)
        texts[section.title] = _markdown(section, rows, notes)
        RESULTS.write_text(_report(texts))


def _report(texts: dict[str, str]) -> str:
    setting = f"Written by `make bench` on {machine.described()}. Ratios are of one run on one machine."
    sections = [_pictured(each.title, texts[each.title]) for each in SECTIONS.values() if each.title in texts]
    return "\n\n".join(["# Benchmarks", setting, *sections]) + "\n"


def _pictured(title: str, text: str) -> str:
    picture = charts.drawn(title, text)
    return f"{text}\n\n{picture}" if picture else text


def _texts() -> dict[str, str]:
    """The sections of the report as it stands, by title, without their pictures."""
    found = RESULTS.read_text().split("\n## ")[1:] if RESULTS.exists() else []
    return {text.partition("\n")[0]: f"## {text.partition('![')[0].strip()}" for text in found}


def _markdown(section: Section, rows: Rows, notes: list[str]) -> str:
    lines = [f"## {section.title}", "", *([section.about, ""] if section.about else [])]
    table = (section.headings, ("---",) * len(section.headings), *rows)
    lines += [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*lines, *([""] if notes else []), *(f"- {note}" for note in notes)])


def _shown(section: Section, rows: Rows) -> Table:
    table = Table(title=section.title, title_justify="left")
    for heading in section.headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


if __name__ == "__main__":
    main()
