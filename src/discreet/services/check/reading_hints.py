"""Reading hints: which option of a table's `csv:` section would read texts that are unreadable now.

Only forms that occur are proposed, and only if they read every text that was shown: dates as `dd.mm.yyyy`,
decimal commas, thousands marks, and the words by which files say that a value is missing. The custodian
writes the option into the policy; nothing here does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from discreet.core.column_entry import Column, ColumnType
from discreet.core.csv_options import CsvOptions

NULL_WORDS = frozenset(
    ["", "-", "--", ".", "?", "#n/a", "n/a", "na", "nan", "nil", "none", "null", "unknown", "(null)", "\\n"]
)
CLOCK = r"(?P<clock>[ T]\d{1,2}:\d{2}(?P<seconds>:\d{2})?)?"
DATE_FORMS = (
    (re.compile(rf"\d{{1,2}}\.\d{{1,2}}\.\d{{4}}{CLOCK}"), "%d.%m.%Y"),
    (re.compile(rf"\d{{1,2}}\.\d{{1,2}}\.\d{{2}}{CLOCK}"), "%d.%m.%y"),
    (re.compile(rf"\d{{4}}/\d{{1,2}}/\d{{1,2}}{CLOCK}"), "%Y/%m/%d"),
    (re.compile(rf"\d{{4}}\d{{2}}\d{{2}}{CLOCK}"), "%Y%m%d"),
    (re.compile(rf"\d{{1,2}} [A-Za-z]{{3}} \d{{4}}{CLOCK}"), "%d %b %Y"),
)
SLASHED = re.compile(
    rf"(?P<first>\d{{1,2}})(?P<mark>[/-])(?P<second>\d{{1,2}})[/-](?P<year>\d{{4}}|\d{{2}}){CLOCK}"
)
COMMA = re.compile(r"[+-]?\d+,\d*")
POINTS_AND_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?")
COMMAS_AND_POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
LARGEST_MONTH = 12
ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
"""A number with one comma, which separates thousands or a fraction."""
SYMBOL = re.compile(r"[+-]?([^\d\s.,+-]+)\s*[+-]?\d[\d.,' ]*|[+-]?\d[\d.,' ]*?\s*([^\d\s.,+-]+)")
"""A number with a currency, a percent sign or a unit beside it."""
ISO_FORMS = {ColumnType.DATE: "%Y-%m-%d", ColumnType.TIMESTAMP: "%Y-%m-%d %H:%M:%S"}


def is_null_word(text: str) -> bool:
    """Return whether a text is one of the usual words for a missing value."""
    return text.strip().casefold() in NULL_WORDS


def is_formula(text: str) -> bool:
    """Return whether a text is a formula of a spreadsheet, which was never computed.

    >>> is_formula("=A1*2"), is_formula('="0042"')
    (True, False)
    """
    return text.startswith("=") and not text.startswith('="')


def propose_reading(
    column: Column, texts: Sequence[str], *, reads_some: bool = False, options: CsvOptions | None = None
) -> str:
    """Return the entries of the `csv:` section that would read these texts; empty if none are known.

    `reads_some`: other values of the column are read already, and have to be read by the section, too.
    `options` are those of the table, of which lists keep what they have.

    >>> propose_reading(Column(type="date"), ["03.12.2024", "NA"])
    'csv: {dates: ["%d.%m.%Y"], nulls: ["", "NA"]}'
    >>> propose_reading(Column(type="decimal"), ["1,5", "20,25"])
    'csv: {decimal: ","}'
    """
    words = [text for text in texts if is_null_word(text)]
    values = [text.strip() for text in texts if not is_null_word(text)]
    known, entries = options or CsvOptions(), list[str]()
    if values and column.type in (ColumnType.INTEGER, ColumnType.DECIMAL):
        entries = _propose_numbers(values)
    elif values and column.type in (ColumnType.DATE, ColumnType.TIMESTAMP):
        entries = _propose_dates(column, values, known, reads_some=reads_some)
    if values and not entries:
        return ""
    if words:
        nulls = dict.fromkeys(["", *known.nulls, *words])
        entries.append(f"nulls: [{', '.join(map(_quote, nulls))}]")
    return f"csv: {{{', '.join(entries)}}}" if entries else ""


def describe_open_marks(column: Column, texts: Iterable[str]) -> str:
    """Return what to declare where a comma separates thousands or a fraction; empty if texts decide it.

    >>> describe_open_marks(Column(type="decimal"), ["1,234", "20,500"])
    'Add csv: {decimal: ","} to the table if 1,234 is less than two, or csv: {thousands: ","} if it is more.'
    """
    values = [text.strip() for text in texts if not is_null_word(text)]
    is_number = column.type in (ColumnType.INTEGER, ColumnType.DECIMAL)
    if not is_number or not values or not all(map(ONE_GROUP.fullmatch, values)):
        return ""
    return (
        'Add csv: {decimal: ","} to the table if 1,234 is less than two, or csv: {thousands: ","} if it is '
        "more."
    )


def list_symbols(texts: Iterable[str]) -> list[str]:
    """Return the currencies, percent signs or units beside numbers.

    >>> list_symbols(["$5.00", "12 %", "kg"])
    ['$', '%']
    """
    found = [SYMBOL.fullmatch(text.strip()) for text in texts]
    return list(dict.fromkeys(each[1] or each[2] for each in found if each is not None))


def _propose_numbers(texts: Iterable[str]) -> list[str]:
    listed = list(texts)
    if all(map(ONE_GROUP.fullmatch, listed)):
        return []
    if all(COMMAS_AND_POINT.fullmatch(text) for text in listed):
        return ['thousands: ","']
    if all(COMMA.fullmatch(text) for text in listed):
        return ['decimal: ","']
    if all(COMMA.fullmatch(text) or POINTS_AND_COMMA.fullmatch(text) for text in listed):
        return ['decimal: ","', 'thousands: "."']
    return []


def _propose_dates(column: Column, texts: Sequence[str], known: CsvOptions, *, reads_some: bool) -> list[str]:
    order = _find_order(texts)
    # declared formats replace the ISO dates that are read without any
    own = known.dates if column.type is ColumnType.DATE else known.timestamps
    forms = dict.fromkeys(own or ([ISO_FORMS[column.type]] if reads_some else []))
    for text in texts:
        form = _find_date_form(text, order)
        if form is None:
            return []
        forms.setdefault(form)
    if set(forms) <= set(own):
        return []  # they are read by these formats, and are no days
    section = "dates" if column.type is ColumnType.DATE else "timestamps"
    options = [f"{section}: [{', '.join(map(_quote, forms))}]"]
    if any("%y" in form for form in forms) and known.two_digit_years is None:
        options.append("two_digit_years: YEAR")  # the first year of the hundred, which only people know
    return options


def _find_order(texts: Sequence[str]) -> str | None:
    """Return how days and months with slashes are ordered: d, m, or None if no text decides it."""
    found = [SLASHED.fullmatch(text) for text in texts]
    if any(each is not None and int(each["first"]) > LARGEST_MONTH for each in found):
        return "d"
    if any(each is not None and int(each["second"]) > LARGEST_MONTH for each in found):
        return "m"
    return None


def _find_date_form(text: str, order: str | None) -> str | None:
    slashed = SLASHED.fullmatch(text)
    if slashed is not None:
        if order is None:
            return None
        parts = ("%d", "%m") if order == "d" else ("%m", "%d")
        year = "%Y" if len(slashed["year"]) == 4 else "%y"
        return slashed["mark"].join([*parts, year]) + _find_clock_form(slashed)
    for pattern, form in DATE_FORMS:
        found = pattern.fullmatch(text)
        if found is not None:
            return form + _find_clock_form(found)
    return None


def _find_clock_form(found: re.Match[str]) -> str:
    clock = found["clock"]
    if not clock:
        return ""
    return f"{clock[0]}%H:%M{':%S' if found['seconds'] else ''}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
