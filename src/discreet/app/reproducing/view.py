"""Terminal and JSON views of reproductions: a summary of all, or one in full."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from discreet.belief.wording import format_number
from discreet.papers import Line, Reproduction, Verdict

STYLES = {Verdict.MATCHES: "green", Verdict.DIFFERS: "yellow", Verdict.ADDED: "dim", Verdict.SAMPLE: "dim"}
MOST = 4
MARKED = "Computed from the made-up census, not from Adult: not comparable with the printed values."


def as_object(found: Sequence[Reproduction]) -> dict[str, object]:
    """Return the JSON object."""
    return {"tables": [_as_object(each) for each in found]}


def _as_object(found: Reproduction) -> dict[str, object]:
    return {
        "name": found.name,
        "document": found.document,
        "title": found.title,
        "printed": {line.what: line.printed for line in found.lines if line.printed},
        "recomputed": {line.what: _plain(line.recomputed) for line in found.lines},
        "verdict": found.verdict,
        "lines": [
            {
                "what": line.what,
                "printed": line.printed or None,
                "recomputed": _plain(line.recomputed),
                "verdict": line.verdict.value,
                "why": why(line) or None,
            }
            for line in found.lines
        ],
        "notes": list(found.notes),
    }


def show_all(console: Console, found: Sequence[Reproduction]) -> None:
    """Print every table with its verdict, and the lines that differ."""
    for document, group in groupby(found, key=lambda each: each.document):
        console.print(Text(f"\n{document}", style="bold"))
        for each in group:
            head = Text.assemble(f"{each.name}  ", (each.verdict, _style(each)), f"  {each.title}")
            console.print(Padding(head, (0, 0, 0, 2)))
            differing = [line for line in each.lines if line.verdict is Verdict.DIFFERS]
            _explain(
                console, differing, lambda line: f"{line.what}: printed {line.printed}, is {shown(line)}"
            )
    if any(line.is_sample for each in found for line in each.lines):
        console.print(Text(f"\n{MARKED}", style="yellow"))
    console.print(Text("\ndiscreet reproduce NAME shows one of them in full.", style="dim"))


def show(console: Console, found: Reproduction) -> None:
    """Print one table, line by line."""
    console.print(Text.assemble("\n", (found.title, "bold"), "  ", (found.verdict, _style(found))))
    console.print(Text(found.document, style="dim"))
    grid = Table(box=None, pad_edge=False, header_style="dim")
    grid.add_column("")
    grid.add_column("printed", justify="right")
    grid.add_column("recomputed", justify="right")
    grid.add_column("verdict")
    for line in found.lines:
        verdict = Text(line.verdict.value, style=STYLES[line.verdict])
        grid.add_row(Text(line.what), Text(line.printed), Text(shown(line)), verdict)
    console.print(grid)
    _explain(console, [line for line in found.lines if why(line)], lambda line: line.what)
    for note in found.notes:
        console.print(Text(note))
    if any(line.is_sample for line in found.lines):
        console.print(Text(MARKED, style="yellow"))


def _explain(console: Console, lines: Sequence[Line], said: Callable[[Line], str]) -> None:
    """Print lines grouped by their reason, each reason once."""
    for reason, group in groupby(lines, key=why):
        told = Text(_listed([said(line) for line in group]))
        if reason:
            told.append(f": {reason}", style="dim")
        console.print(Padding(told, (0, 0, 0, 4)))


def _listed(texts: Sequence[str]) -> str:
    several = len(texts) > MOST
    return "; ".join(texts[:1] if several else texts) + (f"; and {len(texts) - 1} more" if several else "")


def shown(line: Line) -> str:
    """Return the recomputed value with enough digits to compare it with the printed one."""
    value = line.recomputed
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "infinity"
    if line.printed.endswith("%"):
        return f"{format_number(100 * value, 4)}%"
    return f"{value:.3e}" if 0 < abs(value) < 1e-4 else format_number(value, 6 if abs(value) >= 1_000 else 4)


def why(line: Line) -> str:
    """Return the reason of a difference, or an empty text for a match."""
    return "" if line.verdict is Verdict.MATCHES else line.why


def _style(found: Reproduction) -> str:
    differs = any(line.verdict is Verdict.DIFFERS for line in found.lines)
    return STYLES[Verdict.DIFFERS] if differs else STYLES.get(Verdict(found.verdict), "")


def _plain(value: float | str) -> float | str:
    """Return the value as JSON can hold it: infinity becomes text."""
    return "infinity" if isinstance(value, float) and math.isinf(value) else value
