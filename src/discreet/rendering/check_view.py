"""Terminal and JSON views of a check: a row for each column, with a sparkline, its verdict and its fix.

Shares in JSON are of the table's rows, from 0 to 1; `counts` has the numbers of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.belief.wording import format_number
from discreet.services.check.check import CheckSummary
from discreet.services.check.check_report import Bias, ColumnCheck, DataCheck, TableCheck
from discreet.services.check.verdicts import Verdict, format_share

MAX_SHOWN = 5
STYLES = {Verdict.FITS: "green", Verdict.DIFFERS: "yellow", Verdict.EXCEEDS: "red"}
MARKS = {Verdict.FITS: "✓", Verdict.DIFFERS: "!", Verdict.EXCEEDS: "✗"}
HEADINGS = {
    "unreadable": "unreadable",
    "clamped_low": "below",
    "clamped_high": "above",
    "undeclared": "undeclared",
    "missing": "missing",
    "padded": "padded",
}
ACCEPT = "Accept it for analysts with discreet check --accept."
ACCEPT_DESPITE = "Accept it all the same with discreet check --accept --despite."


def check_to_json(check: DataCheck) -> dict[str, object]:
    """Return the JSON object of a check."""
    return {"tables": [_table_to_json(table) for table in check.tables], "verdict": check.verdict.value}


def _table_to_json(table: TableCheck) -> dict[str, object]:
    people = table.people
    return {
        "name": table.name,
        "rows": table.rows,
        "unread": table.unread.count,
        "unread_lines": [{"file": file, "line": line} for file, line in table.unread.lines],
        "accepted": table.accepted,
        "live": table.is_live,
        "verdict": table.verdict.value,
        "findings": [{"text": each.text, "fix": each.fix} for each in table.findings],
        "people": None if people is None else vars(people),
        "columns": [_column_to_json(column) for column in table.columns],
    }


def _column_to_json(column: ColumnCheck) -> dict[str, object]:
    counts = count_departures(column)
    profile = column.profile
    return {
        "name": column.name,
        **{name: column.get_share(count) for name, count in counts.items()},
        "rounded": column.get_share(profile.rounded),
        "two_digit_years": column.get_share(profile.two_digit_years),
        "verdict": column.verdict.value,
        "finding": column.text,
        "fix": column.fix,
        "counts": {**counts, "two_digit_years": profile.two_digit_years},
        "distinct": profile.distinct,
        "bins": list(profile.bins),
        "commonest": [
            {"text": each.text, "rows": each.rows, "nearest": each.nearest} for each in column.commonest
        ],
        "unmatched": None if column.link is None else column.link.unmatched,
        "bias": None if column.bias is None else _bias_to_json(column.bias),
    }


def _bias_to_json(bias: Bias) -> dict[str, object]:
    """Return count, sum and mean in the data and as they are answered, without noise."""
    pairs = {"count": bias.count, "sum": bias.sum, "mean": bias.mean}
    return {
        name: None if pair is None else {"data": pair[0], "answered": pair[1]} for name, pair in pairs.items()
    }


def count_departures(column: ColumnCheck) -> dict[str, int]:
    """Return the numbers of a column's rows that depart from the policy, by the names of JSON."""
    return {name: getattr(column.profile, name) for name in HEADINGS}


def print_check(console: Console, check: DataCheck) -> None:
    """Print each table with its columns, then what the custodian may do next."""
    for table in check.tables:
        _print_table(console, table)
    live = [table.name for table in check.tables if table.is_live]
    if live:
        told = f"{', '.join(live)}: live rows have no digest; an acceptance is for the data version alone."
        console.print(told, highlight=False, markup=False, soft_wrap=True)
    if all(table.accepted for table in check.tables):
        told = "This version of the data is accepted."
    else:
        told = f"This version of the data is not accepted yet. {_suggest_acceptance(check.verdict)}"
    console.print(told, highlight=False, markup=False, soft_wrap=True)


def _suggest_acceptance(verdict: Verdict) -> str:
    return ACCEPT_DESPITE if verdict is Verdict.EXCEEDS else ACCEPT


def _print_table(console: Console, table: TableCheck) -> None:
    unread = f", {table.unread.count:,} not read" if table.unread.count else ""
    console.print(Text.assemble((table.name, "bold"), f"  {table.rows:,} rows{unread}"))
    shown = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    shown.add_column("")
    shown.add_column("column", overflow="fold")
    used = [name for name in HEADINGS if any(count_departures(each)[name] for each in table.columns)]
    for name in used:
        shown.add_column(HEADINGS[name], justify="right")
    shown.add_column("values", no_wrap=True)
    for column in table.columns:
        counts = count_departures(column)
        cells = [format_share(counts[name], table.rows) if counts[name] else "" for name in used]
        mark = Text(MARKS[column.verdict], style=STYLES[column.verdict])
        shown.add_row(mark, Text(column.name), *cells, column.sparkline)
    console.print(shown)
    for finding in table.findings:
        _print_lines(console, MARKS[finding.verdict], f"{table.name}: {finding.text}.", [finding.fix])
    if table.findings:
        for column in table.columns:
            for line in [] if column.findings else _describe_bias(column.bias):
                _print_lines(console, " ", f"{column.name}: {line}", [])
    for column in table.columns:
        if column.findings:
            details = [*_describe_spellings(column), *_describe_bias(column.bias), column.fix]
            _print_lines(console, MARKS[column.verdict], f"{column.name}: {column.text}.", details)
    console.print()


def _print_lines(console: Console, mark: str, text: str, details: Sequence[str]) -> None:
    console.print(f"{mark} {text}", highlight=False, markup=False, soft_wrap=True)
    for each in details:
        console.print(f"    {each}", highlight=False, markup=False, soft_wrap=True)


def _describe_spellings(column: ColumnCheck) -> list[str]:
    if not column.commonest:
        return []
    found = [
        f"{each.text!r} ({format_share(each.rows, column.rows)}"
        + (f", nearest {each.nearest!r})" if each.nearest is not None else ")")
        for each in column.commonest[:MAX_SHOWN]
    ]
    return [f"commonest: {', '.join(found)}"]


def _describe_bias(bias: Bias | None) -> list[str]:
    if bias is None:
        return []
    pairs = [("count", bias.count), ("sum", bias.sum), ("mean", bias.mean)]
    moved = [
        f"{name} {format_number(pair[0])} → {format_number(pair[1])}"
        for name, pair in pairs
        if pair is not None and pair[0] != pair[1]
    ]
    return [f"answers are moved, beside the noise: {', '.join(moved)}"] if moved else []


def format_notices(summaries: Sequence[CheckSummary]) -> list[str]:
    """Return a line on each table that does not fit."""
    return [f"check: {each.text}" for each in summaries if each.verdict is not Verdict.FITS]
