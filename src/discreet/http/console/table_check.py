"""One table's check as pages show it: shares, sparkline, verdict and finding of each column."""

from __future__ import annotations

from discreet.rendering.check_view import HEADINGS, count_departures
from discreet.services.check.check_report import TableCheck
from discreet.services.check.verdicts import format_share

NO_BREAK = "\N{NO-BREAK SPACE}"


def describe_table_check(table: TableCheck) -> dict[str, object]:
    """Return what a page shows of one table's check."""
    used = [name for name in HEADINGS if any(count_departures(each)[name] for each in table.columns)]
    return {
        "name": table.name,
        "rows": f"{table.rows:,}",
        "unread": f"{table.unread.count:,}" if table.unread.count else "",
        "headings": [HEADINGS[name] for name in used],
        "columns": [
            {
                "name": column.name,
                "shares": [
                    format_share(count, table.rows) if (count := count_departures(column)[name]) else ""
                    for name in used
                ],
                "bars": column.sparkline.replace(" ", NO_BREAK),
                "verdict": column.verdict.value,
                "finding": column.text,
                "fix": column.fix,
            }
            for column in table.columns
        ],
        "findings": table.findings,
    }
