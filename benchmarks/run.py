"""`make bench`: every figure of the benchmarks, measured side by side in one run."""

from __future__ import annotations

import platform
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

from benchmarks import accounting, noise

PEERS = ("numpy", "scipy", "opendp", "dp-accounting")


def main() -> None:
    console = Console()
    table = Table(title="Foundations", title_justify="left")
    for heading in ("figure", "measured", "bar"):
        table.add_column(heading, overflow="fold")
    for room in (noise, accounting):
        with console.status(f"measuring {room.__name__} …"):
            for row in room.rows():
                table.add_row(*row)
    console.print(table)
    versions = ", ".join(f"{name} {version(name)}" for name in PEERS)
    console.print(f"Python {platform.python_version()}, {versions}; ratios are of one run on one machine.")


if __name__ == "__main__":
    main()
