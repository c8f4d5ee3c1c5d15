"""Verdicts: how far a column or a table departs from the policy, and what the custodian can do about it.

    fits       as the policy says
    differs    some values do not fit, or something looks wrong, within the policy's `at_most`
    exceeds    more values do not fit than `at_most`: accepting the data takes `despite`

A column has one verdict, the worst of its findings, with the fix of that one. A fix is an option by which the
file is read, or another spelling of a declared value; bounds and new values are learned privately by
`discreet bounds`, because the data never writes the policy.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from discreet.belief.wording import format_percent
from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.csv_options import CsvOptions
from discreet.core.policy import AtMost
from discreet.core.spellings import find_nearest, find_spelling
from discreet.engines.column_profile import ColumnProfile
from discreet.services.check.reading_hints import (
    describe_open_marks,
    is_formula,
    is_null_word,
    list_symbols,
    propose_reading,
)

NEAR_UNIQUE, LEAST_ROWS = 0.9, 50
"""The share of distinct values, of which estimates err by a few percent, that makes a column near-unique."""
KINDS = {
    ColumnType.INTEGER: "an integer",
    ColumnType.DECIMAL: "a number",
    ColumnType.DATE: "a date",
    ColumnType.TIMESTAMP: "a time",
    ColumnType.BOOLEAN: "true or false",
}


MAX_NEAR = 5
TRIM = "Add csv: {trim: true} to the table."


class Verdict(StrEnum):
    """How well data fits the policy; later members are worse."""

    FITS = "fits"
    DIFFERS = "differs"
    EXCEEDS = "exceeds"


SEVERITY = {verdict: place for place, verdict in enumerate(Verdict)}


@dataclass(frozen=True, kw_only=True)
class CommonText:
    """A text that does not fit, its number of rows, and the nearest declared value."""

    text: str
    rows: int
    nearest: str | None = None


@dataclass(frozen=True, kw_only=True)
class LinkCheck:
    """The rows of a linked column that have a key, and those whose key is in no row of the other table."""

    table: str
    keyed: int
    unmatched: int


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that does not fit, in words, with what to do about it."""

    verdict: Verdict
    text: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class ColumnContext:
    """A column and what findings are made of; `csv` has the options that a text source is read by."""

    table: str
    name: str
    column: Column
    rows: int
    profile: ColumnProfile
    commonest: tuple[CommonText, ...]
    link: LinkCheck | None
    at_most: AtMost
    csv: CsvOptions | None

    @property
    def is_csv(self) -> bool:
        """True if reading options apply to the column."""
        return self.csv is not None

    def format_share(self, count: int) -> str:
        """Return a number of rows as a share of the table's."""
        return format_share(count, self.rows)

    def judge(self, count: int, most: float) -> Verdict:
        """Return the verdict on a number of rows that do not fit, of which a share is allowed."""
        return Verdict.EXCEEDS if count > most * self.rows else Verdict.DIFFERS


def format_share(count: int, rows: int) -> str:
    """Return a number of rows as a percentage; few of many are below 0.1%, not 0%.

    >>> format_share(12, 1_000), format_share(1, 1_000_000), format_share(999_999, 1_000_000)
    ('1.2%', '<0.1%', '>99.9%')
    """
    share = count / rows if rows else 0.0
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return format_percent(round(share, 3))


def find_worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts; data without any fits.

    >>> find_worst([Verdict.DIFFERS, Verdict.FITS])
    <Verdict.DIFFERS: 'differs'>
    """
    return max(verdicts, key=SEVERITY.__getitem__, default=Verdict.FITS)


def add_nearest(column: Column, commonest: Iterable[CommonText]) -> tuple[CommonText, ...]:
    """Return the most frequent texts of a column, each with the declared value nearest to it."""
    return tuple(
        CommonText(text=each.text, rows=each.rows, nearest=find_nearest(each.text, column.values or ()))
        for each in commonest
    )


def list_findings(context: ColumnContext) -> list[Finding]:
    """Return what does not fit in a column, the worst first."""
    found = [
        *_find_unreadable(context),
        *_find_rounded(context),
        *_find_undeclared(context),
        *_find_two_digit_years(context),
        *_find_clamped(context),
        *_find_missing(context),
        *_find_padded(context),
        *_find_identifying(context),
        *_find_unmatched(context),
    ]
    return sorted(found, key=lambda each: -SEVERITY[each.verdict])


def _find_unreadable(context: ColumnContext) -> Iterator[Finding]:
    count, column = context.profile.unreadable, context.column
    if not count:
        return
    texts = [each.text for each in context.commonest]
    option = (
        propose_reading(column, texts, reads_some=_reads_some(context), options=context.csv)
        if context.is_csv
        else ""
    )
    fix = describe_open_marks(column, texts) if context.is_csv else ""
    if not fix:
        fix = f"Add {option} to the table." if option else _suggest_conversion(context, texts)
    yield Finding(
        verdict=context.judge(count, context.at_most.unreadable),
        text=f"{context.format_share(count)} cannot be read as {KINDS[column.type]}",
        fix=fix,
    )


def _reads_some(context: ColumnContext) -> bool:
    profile = context.profile
    return context.rows > profile.missing + profile.unreadable


def _suggest_conversion(context: ColumnContext, texts: Sequence[str]) -> str:
    column = context.column
    if context.is_csv and column.type in (ColumnType.DATE, ColumnType.TIMESTAMP):
        section = "dates" if column.type is ColumnType.DATE else "timestamps"
        return f"Name their format under csv: {{{section}: […]}}, or correct them in the file."
    if texts and all(map(is_formula, texts)):
        return "Open the workbook in a program that computes its formulas, and save it."
    symbols = list_symbols(texts) if column.type in (ColumnType.INTEGER, ColumnType.DECIMAL) else []
    if symbols:
        listed = " and ".join(symbols[:MAX_NEAR])
        return f"Write them as numbers alone, without {listed}, where the table is made."
    return "Correct them where the table is made, or declare the column as text."


def _find_rounded(context: ColumnContext) -> Iterator[Finding]:
    count, csv = context.profile.rounded, context.csv
    if count:
        is_open = csv is not None and csv.decimal == "." and csv.thousands is None
        verdict = context.judge(count, context.at_most.unreadable)
        grouped = ', or csv: {decimal: ",", thousands: "."} if 1.234 means more than a thousand'
        yield Finding(
            # only a text such as 1.234 may mean something else
            verdict=Verdict.DIFFERS if csv is None else verdict,
            text=f"{context.format_share(count)} have a fraction, and are rounded",
            fix=f"Declare type: decimal with a resolution{grouped if is_open else ''}.",
        )


def _find_undeclared(context: ColumnContext) -> Iterator[Finding]:
    count = context.profile.undeclared
    if count:
        yield Finding(
            verdict=context.judge(count, context.at_most.undeclared),
            text=f"{context.format_share(count)} are not among the declared values",
            fix=_suggest_values(context),
        )


def _suggest_values(context: ColumnContext) -> str:
    values, texts = context.column.values or (), [each.text for each in context.commonest]
    words = [text for text in texts if is_null_word(text)]
    others = [text for text in texts if not is_null_word(text)]
    if words and not others and context.is_csv:
        return f"Add {propose_reading(context.column, words, options=context.csv)} to the table."
    spelled = {text: find_spelling(text, values) for text in others}
    if others and all(spelled.values()):
        if context.is_csv and all(text.strip() == spelled[text] for text in others):
            return TRIM
        pairs = ", ".join(f"{text!r} for {value!r}" for text, value in spelled.items())
        nulls = ""
        if words and context.is_csv:
            nulls = f" Add {propose_reading(context.column, words, options=context.csv)} to the table."
        both = " Where both are in the data, declare both." if _has_declared(context) else ""
        return f"Declare them as the data spells them: {pairs}.{both}{nulls}"
    command = _write_bounds_command(context, "--values")
    near = [f"{each.text!r} for {each.nearest!r}" for each in context.commonest if each.nearest is not None]
    spelling = f"Perhaps misspelled: {', '.join(near[:MAX_NEAR])}. " if near else ""
    return f"{spelling}Learn the frequent values: {command}"


def _has_declared(context: ColumnContext) -> bool:
    """Return whether some rows have a declared value."""
    profile = context.profile
    return context.rows > profile.missing + profile.undeclared


def _write_bounds_command(context: ColumnContext, *options: str) -> str:
    """Return the command line that learns what is declared of a column, as it can be pasted."""
    return shlex.join(["discreet", "bounds", context.table, context.name, "--epsilon", "0.05", *options])


def _find_two_digit_years(context: ColumnContext) -> Iterator[Finding]:
    count = context.profile.two_digit_years
    if count:
        yield Finding(
            verdict=context.judge(count, context.at_most.unreadable),
            text=f"{context.format_share(count)} have a year of two digits",
            fix="Write years with four digits, or add a format with %y and two_digit_years under csv."
            if context.is_csv
            else "Write years with four digits where the table is made.",
        )


def _find_clamped(context: ColumnContext) -> Iterator[Finding]:
    below, above = context.profile.clamped_low, context.profile.clamped_high
    if below or above:
        parts = [
            f"{context.format_share(count)} are {side} the bounds"
            for count, side in ((below, "below"), (above, "above"))
            if count
        ]
        yield Finding(
            verdict=context.judge(below + above, context.at_most.clamped),
            text=" and ".join(parts),
            fix=f"Learn bounds: {_write_bounds_command(context)}",
        )


def _find_missing(context: ColumnContext) -> Iterator[Finding]:
    if context.rows and context.profile.missing == context.rows:
        yield Finding(
            verdict=Verdict.DIFFERS,
            text="no row has a value",
            fix="Check how it is read, or leave the column out: answers about it are noise.",
        )
    elif context.column.nulls is False and context.profile.missing:
        yield Finding(
            verdict=Verdict.DIFFERS,
            text=f"{context.format_share(context.profile.missing)} are missing, though nulls is false",
            fix="Declare nulls: true, or leave nulls out.",
        )


def _find_padded(context: ColumnContext) -> Iterator[Finding]:
    is_text = context.column.type in (ColumnType.TEXT, ColumnType.CATEGORY)
    is_trimmed = context.csv is not None and context.csv.trim
    if context.profile.padded and is_text and not is_trimmed:
        yield Finding(
            verdict=Verdict.DIFFERS,
            text=f"{context.format_share(context.profile.padded)} have blanks around them",
            fix=TRIM if context.is_csv else "Trim them where the table is made.",
        )


def _find_identifying(context: ColumnContext) -> Iterator[Finding]:
    profile = context.profile
    filled = context.rows - profile.missing
    if profile.distinct is not None and filled >= LEAST_ROWS and profile.distinct >= NEAR_UNIQUE * filled:
        yield Finding(
            verdict=Verdict.DIFFERS,
            text="nearly every row has a value of its own",
            fix=f"If it names people or things, declare role: {Role.IDENTIFIER.value}.",
        )


def _find_unmatched(context: ColumnContext) -> Iterator[Finding]:
    link = context.link
    if link is not None and link.unmatched:
        yield Finding(
            verdict=Verdict.DIFFERS,
            text=f"{format_share(link.unmatched, link.keyed)} of the keys are in no row of {link.table}",
            fix=f"Check that both tables write keys alike, and that {link.table} is complete.",
        )


def join_texts(findings: Sequence[Finding]) -> str:
    """Return all findings of a column as one text."""
    return "; ".join(each.text for each in findings)
