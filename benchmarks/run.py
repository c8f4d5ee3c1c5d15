"""`make bench`: every figure of the benchmarks, measured side by side in one run, into RESULTS.md."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import accounting, anonymize, ask, noise

ROOMS = {
    "Exact noise": noise,
    "Accounting": accounting,
    "Private SQL against raw DuckDB": ask,
    "Generalization": anonymize,
}
PEERS = ("numpy", "scipy", "opendp", "dp-accounting", "duckdb")
RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    console = Console()
    versions = ", ".join(f"{name} {version(name)}" for name in PEERS)
    setting = f"Python {platform.python_version()}, {versions}; ratios are of one run on one machine."
    lines = ["# Benchmarks", "", f"Written by `make bench`. {setting}", ""]
    for title, room in ROOMS.items():
        with console.status(f"measuring: {title} …"):
            found = room.rows()
        table = Table(title=title, title_justify="left")
        for heading in ("figure", "measured", "bar"):
            table.add_column(heading, overflow="fold")
        for row in found:
            table.add_row(*row)
        console.print(table)
        lines += [f"## {title}", "", "| figure | measured | bar |", "|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in found] + [""]
    console.print(setting)
    RESULTS.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
