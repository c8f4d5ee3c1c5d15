"""Findings on a table as a whole: rows that are not read, marks that quote nothing, people with many rows."""

from __future__ import annotations

from discreet.belief.wording import format_count
from discreet.core.policy import AtMost
from discreet.engines.sources import UnreadRows
from discreet.services.check.check_report import PeopleCheck
from discreet.services.check.verdicts import Finding, Verdict, format_share


def list_table_findings(
    rows: int, unread: UnreadRows, people: PeopleCheck | None, at_most: AtMost
) -> list[Finding]:
    """Return what does not fit in a table as a whole: rows that are not read, and people's rows."""
    found = []
    if unread.count:
        is_beyond = unread.count > at_most.unreadable * (unread.count + rows)
        found.append(
            Finding(
                verdict=Verdict.EXCEEDS if is_beyond else Verdict.DIFFERS,
                text=f"{format_count(unread.count, 'row has', 'rows have')} {unread.fault}",
                fix="Correct the lines that the custodian's log lists, or the options under csv."
                if unread.overlong_count < unread.count
                else "Shorten the lines that the custodian's log lists, or write the table as Parquet.",
            )
        )
    if unread.undecodable_count:
        is_beyond = unread.undecodable_count > at_most.unreadable * rows
        found.append(
            Finding(
                verdict=Verdict.EXCEEDS if is_beyond else Verdict.DIFFERS,
                text=f"{unread.undecodable_count:,} rows are in another encoding than declared",
                fix="Add the encoding of the file to the table, such as csv: {encoding: cp1252}.",
            )
        )
    if unread.quoted_rows:
        is_beyond = unread.quoted_rows > at_most.unreadable * rows
        found.append(
            Finding(
                verdict=Verdict.EXCEEDS if is_beyond else Verdict.DIFFERS,
                text=f"{format_count(unread.quoted_rows, 'line', 'lines')} within quoted values may be rows",
                fix='Double the quote marks within values, "a ""quoted"" word"; if marks quote nothing, add '
                'csv: {quote: ""} to the table.',
            )
        )
    elif unread.quoted_lines > at_most.unreadable * rows:
        found.append(
            Finding(
                verdict=Verdict.DIFFERS,
                text=f"{unread.quoted_lines:,} lines are within quoted values that began before",
                fix='If its marks quote nothing, add csv: {quote: ""} to the table.',
            )
        )
    if people is not None and people.over:
        shown = format_share(people.over, people.people)
        found.append(
            Finding(
                verdict=Verdict.DIFFERS,
                text=f"{shown} of people have more than {people.bound:,} rows, and "
                f"{people.left_out:,} rows are left out for it",
                fix="Raise rows_per_person if that matters more than the noise, which grows with it.",
            )
        )
    if people is not None and people.unnamed:
        found.append(
            Finding(
                verdict=Verdict.DIFFERS,
                text=f"{format_share(people.unnamed, rows)} of rows name no person, and are left out",
                fix="Check the column that names people.",
            )
        )
    return found
