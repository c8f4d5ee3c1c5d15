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
from discreet.papers import ComparedValue, Reproduction, Verdict

STYLES = {Verdict.MATCHES: "green", Verdict.DIFFERS: "yellow", Verdict.ADDED: "dim", Verdict.SAMPLE: "dim"}
MAX_REASON_LINES = 4
SAMPLE_NOTICE = "Computed from the made-up census, not from Adult: not comparable with the printed values."


def reproductions_to_json(reproductions: Sequence[Reproduction]) -> dict[str, object]:
    """Return the JSON object."""
    return {"tables": [_reproduction_to_json(each) for each in reproductions]}


def _reproduction_to_json(reproduction: Reproduction) -> dict[str, object]:
    return {
        "name": reproduction.name,
        "document": reproduction.document,
        "title": reproduction.title,
        "printed": {line.description: line.printed for line in reproduction.lines if line.printed},
        "recomputed": {line.description: _value_to_json(line.recomputed) for line in reproduction.lines},
        "verdict": reproduction.verdict,
        "lines": [
            {
                "what": line.description,
                "printed": line.printed or None,
                "recomputed": _value_to_json(line.recomputed),
                "verdict": line.verdict.value,
                "why": explain_difference(line) or None,
            }
            for line in reproduction.lines
        ],
        "notes": list(reproduction.notes),
    }


def print_summary(console: Console, reproductions: Sequence[Reproduction]) -> None:
    """Print every table with its verdict, and the lines that differ."""
    for document, group in groupby(reproductions, key=lambda each: each.document):
        console.print(Text(f"\n{document}", style="bold"))
        for each in group:
            head = Text.assemble(f"{each.name}  ", (each.verdict, _get_style(each)), f"  {each.title}")
            console.print(Padding(head, (0, 0, 0, 2)))
            differing = [line for line in each.lines if line.verdict is Verdict.DIFFERS]
            _print_reasons(
                console,
                differing,
                lambda line: f"{line.description}: printed {line.printed}, is {format_recomputed(line)}",
            )
    if any(line.is_sample for each in reproductions for line in each.lines):
        console.print(Text(f"\n{SAMPLE_NOTICE}", style="yellow"))
    console.print(Text("\ndiscreet reproduce NAME shows one of them in full.", style="dim"))


def print_reproduction(console: Console, reproduction: Reproduction) -> None:
    """Print one table, line by line."""
    console.print(
        Text.assemble(
            "\n", (reproduction.title, "bold"), "  ", (reproduction.verdict, _get_style(reproduction))
        )
    )
    console.print(Text(reproduction.document, style="dim"))
    grid = Table(box=None, pad_edge=False, header_style="dim")
    grid.add_column("")
    grid.add_column("printed", justify="right")
    grid.add_column("recomputed", justify="right")
    grid.add_column("verdict")
    for line in reproduction.lines:
        verdict = Text(line.verdict.value, style=STYLES[line.verdict])
        grid.add_row(Text(line.description), Text(line.printed), Text(format_recomputed(line)), verdict)
    console.print(grid)
    _print_reasons(
        console,
        [line for line in reproduction.lines if explain_difference(line)],
        lambda line: line.description,
    )
    for note in reproduction.notes:
        console.print(Text(note))
    if any(line.is_sample for line in reproduction.lines):
        console.print(Text(SAMPLE_NOTICE, style="yellow"))


def _print_reasons(
    console: Console, lines: Sequence[ComparedValue], describe: Callable[[ComparedValue], str]
) -> None:
    """Print lines grouped by their reason, each reason once."""
    for reason, group in groupby(lines, key=explain_difference):
        told = Text(_join_texts([describe(line) for line in group]))
        if reason:
            told.append(f": {reason}", style="dim")
        console.print(Padding(told, (0, 0, 0, 4)))


def _join_texts(texts: Sequence[str]) -> str:
    several = len(texts) > MAX_REASON_LINES
    return "; ".join(texts[:1] if several else texts) + (f"; and {len(texts) - 1} more" if several else "")


def format_recomputed(line: ComparedValue) -> str:
    """Return the recomputed value with enough digits to compare it with the printed one."""
    value = line.recomputed
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "infinity"
    if line.printed.endswith("%"):
        return f"{format_number(100 * value, 4)}%"
    return f"{value:.3e}" if 0 < abs(value) < 1e-4 else format_number(value, 6 if abs(value) >= 1_000 else 4)


def explain_difference(line: ComparedValue) -> str:
    """Return the reason of a difference, or an empty text for a match."""
    return "" if line.verdict is Verdict.MATCHES else line.reason


def _get_style(reproduction: Reproduction) -> str:
    differs = any(line.verdict is Verdict.DIFFERS for line in reproduction.lines)
    return STYLES[Verdict.DIFFERS] if differs else STYLES.get(Verdict(reproduction.verdict), "")


def _value_to_json(value: float | str) -> float | str:
    """Return the value as JSON can hold it: infinity becomes text."""
    return "infinity" if isinstance(value, float) and math.isinf(value) else value
