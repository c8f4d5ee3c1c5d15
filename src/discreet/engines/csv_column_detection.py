"""Detection of a text column's type, and of the marks and formats by which a file writes numbers and dates.

Types       of which at least MIN_SHARE of a column's values are.
Numbers     A file has one decimal mark, and one mark of thousands. 1.234 is a little more than one or a
            thousand and more: a value that can be read one way only decides it for the file (0.5, 1234.5,
            1.234.567), and without one it is left open.
Dates       that two formats read as different days throughout the file are left open, as are years of two
            digits: a person must decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from discreet.core.column_entry import ColumnType
from discreet.core.csv_options import (
    ISO_DATE,
    CsvOptions,
    find_ambiguous_text,
    parse_time,
    write_format_pattern,
)

MAX_VALUES = 2_000
"""Values of a column by which its type is found: testing formats takes longer than reading rows."""
MIN_SHARE = 0.95
MIN_FORMAT_SHARE = 0.01
ISO = "ISO"
"""Times in ISO form, with an offset for example, which are read without a declared format."""
NULL_TEXTS = ("?", "NULL", "null", "N/A", "n/a", "#N/A", "\\N")
"""Texts that mean a missing value in any column."""
TYPED_NULL_TEXTS = (
    *("NA", "na", "NaN", "nan", "None", "none", "-", "--", ".", "k.A.", "k. A.", "unknown", "Unknown"),
    *("(null)", "nil", "0000-00-00", "0000-00-00 00:00:00"),
)
"""Texts that do so in a column of numbers or dates; elsewhere they may be a value, as NA is Namibia."""
DAYS = (
    *("%d.%m.%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y"),
)
CLOCKS = (
    *(" %H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M", " %H:%M:%S.%f", "T%H:%M:%S.%f"),
    *(" %I:%M %p", " %I:%M:%S %p", ", %H:%M"),
)
PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
SPACE_GROUPS = re.compile(r"[+-]?\d{1,3}([ '\u00a0\u202f])\d{3}((\1)\d{3})*([.,]\d+)?")
ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
"""A number that is read either way: 1.234 or 1,234, but not 0.123."""
NUMBERS = (PLAIN_NUMBER, COMMA_NUMBER, POINT_GROUPS, COMMA_GROUPS, SPACE_GROUPS)
CODE = re.compile(r"0\d+")
YEAR = re.compile(r"(19|20)\d\d")
OFFSET = re.compile(r".*\d(Z|[+-]\d{2}:?\d{2})")
MIN_REPEATED = 20
"""Values of a column in which a text that is not among them is its name rather than a rare value."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The first values of a column, without null texts, and the null texts among them."""

    values: tuple[str, ...]
    nulls: frozenset[str]

    @classmethod
    def collect(cls, cells: Iterable[str]) -> Sample:
        """Return the sample of a column's cells."""
        present = Counter(cell for cell in cells if cell)
        null = {text for text in (*NULL_TEXTS, *TYPED_NULL_TEXTS) if text in present}
        values = [value for value in present.elements() if value not in null]
        step = max(len(values) // MAX_VALUES, 1)
        return cls(values=tuple(values[::step]), nulls=frozenset(null))

    @property
    def is_number(self) -> bool:
        """True if most values look like a number."""
        return self._is_mostly(_is_number)

    @property
    def is_time(self) -> bool:
        """True if most values look like a date: digits, or the name of a month, between marks."""
        return self._is_mostly(_looks_like_time)

    @property
    def has_offsets(self) -> bool:
        """True if times have an offset from UTC."""
        return self.is_time and any(OFFSET.fullmatch(value) and ":" in value for value in self.values)

    @property
    def is_repeated(self) -> bool:
        """True if it has few different values, each many times."""
        return len(self.values) >= MIN_REPEATED and 10 * len(set(self.values)) <= len(self.values)

    def has_often(self, text: str) -> bool:
        """Return whether at least one in a hundred values is a text, and three."""
        count = self.values.count(text)
        return count >= 3 and 100 * count >= len(self.values)

    def find_kind(self, numbers: CsvOptions, days: TimeFormats) -> ColumnType:
        """Return the type that nearly all values have, or else text."""
        if not self.values:
            return ColumnType.TEXT
        enough = MIN_SHARE * len(self.values)
        plain = [_write_plainly(value, numbers) for value in self.values]
        if sum(each is not None for each in plain) >= enough:
            if any(CODE.fullmatch(value) for value in self.values):
                return ColumnType.TEXT  # 01234 is a code, not a number
            whole = all(each is None or re.fullmatch(r"[+-]?\d+", each) for each in plain)
            return ColumnType.INTEGER if whole else ColumnType.DECIMAL
        if {value.lower() for value in self.values} <= {"true", "false"}:
            return ColumnType.BOOLEAN
        if self.is_time:
            times = sum(1 for value in self.values if ":" in value)
            formats = (*days.dates, *days.timestamps, *days.open)
            if sum(_is_time(value, formats) for value in self.values) >= enough:
                return ColumnType.TIMESTAMP if times * 2 > len(self.values) else ColumnType.DATE
        return ColumnType.TEXT

    def _is_mostly(self, looks_like: Callable[[str], bool]) -> bool:
        return bool(self.values) and sum(map(looks_like, self.values)) >= MIN_SHARE * len(self.values)


def is_header(first: Sequence[str], samples: Sequence[Sample]) -> bool:
    """Return whether the first row is names, and not values like those below it.

    A number or a date above others is a value, and so is a text that is often found below. Years above
    numbers are names if the other columns have names.
    """
    names = years = 0
    for cell, sample in zip(first, samples, strict=True):
        is_alike = (_is_number(cell) and (sample.is_number or not sample.values)) or (
            _looks_like_time(cell) and (sample.is_time or not sample.values)
        )
        if cell and sample.has_often(cell):
            return False
        if is_alike and not YEAR.fullmatch(cell):
            return False
        years += is_alike
        names += bool(cell) and not is_alike and (sample.is_number or sample.is_time or sample.is_repeated)
    return any(first) and (not years or bool(names))


def _is_number(text: str) -> bool:
    return any(each.fullmatch(text) for each in NUMBERS)


LIKE_TIME = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ,].*)?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?"
    r"|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)


def _looks_like_time(text: str) -> bool:
    return LIKE_TIME.fullmatch(text) is not None


# -- Numbers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NumberMarks:
    """The marks of a file's numbers that are not the usual ones.

    `open` is a number of the form that may be read either way, such as 1.234, if nothing decides it; it is
    none of the file.
    """

    entries: dict[str, str] = field(default_factory=dict)
    open: str | None = None


def detect_number_marks(samples: Iterable[Sample]) -> NumberMarks:
    """Return the decimal mark and the mark of thousands of the columns that are numbers by them."""
    fractions: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    open_groups: Counter[str] = Counter()
    for sample in samples:
        for value in sample.values if sample.is_number else ():
            if (one := ONE_GROUP.fullmatch(value)) is not None:
                open_groups[one[1]] += 1
            elif (spaced := SPACE_GROUPS.fullmatch(value)) is not None:
                groups[spaced[1]] += 1
                fractions[spaced[4][0] if spaced[4] else ""] += 1
            elif POINT_GROUPS.fullmatch(value) and not value.lstrip("+-").startswith("0"):
                groups["."] += 1
                fractions[","] += 1
            elif COMMA_GROUPS.fullmatch(value) and not value.lstrip("+-").startswith("0"):
                groups[","] += 1
                fractions["."] += 1
            else:
                fractions["," if "," in value else "." if "." in value else ""] += 1
    spaces = [mark for mark in groups if mark not in ".,"]
    thousands = max(spaces, key=lambda mark: groups[mark], default=None)
    if fractions["."] or fractions[","]:
        decimal = "," if fractions[","] > fractions["."] else "."
    elif thousands is not None and len(open_groups) == 1:
        (decimal,) = open_groups
    elif open_groups:
        return NumberMarks(open=f"1{max(open_groups, key=lambda mark: open_groups[mark])}234")
    else:
        decimal = "."
    other = "." if decimal == "," else ","
    if thousands is None and (groups[other] or open_groups[other]):
        thousands = other
    entries = {"decimal": decimal} if decimal != "." else {}
    return NumberMarks(entries=entries | ({} if thousands is None else {"thousands": thousands}))


def _write_plainly(text: str, numbers: CsvOptions) -> str | None:
    """Return a number with a decimal point and no other mark, or None if it is none by the options."""
    whole = r"\d+" if numbers.thousands is None else rf"(\d{{1,3}}([{numbers.thousands}]\d{{3}})+|\d+)"
    pattern = rf"[+-]?({whole}([{numbers.decimal}]\d*)?|[{numbers.decimal}]\d+)([eE][+-]?\d+)?"
    if not re.fullmatch(pattern, text):
        return None
    plain = text if numbers.thousands is None else text.replace(numbers.thousands, "")
    return plain.replace(numbers.decimal, ".")


# -- Dates --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TimeFormats:
    """The formats of dates and times in a file; `open` are formats between which nothing decides."""

    dates: tuple[str, ...] = ()
    timestamps: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def choose_time_formats(times: Iterable[Sample]) -> TimeFormats:
    """Return the formats by which the columns of times are read, each the only one for its values."""
    values = [value for sample in times for value in sample.values]
    chosen = TimeFormats()
    rest = values
    while rest:
        counts = Counter(form for value in rest for form in _list_formats(value))
        if not counts:
            break
        most = max(counts.values())
        best = [form for form in counts if counts[form] == most]
        if most < MIN_FORMAT_SHARE * len(values):
            break
        form = best[0]
        rivals = [other for other in best[1:] if _are_ambiguous(form, other)]
        if rivals:
            chosen = replace(chosen, open=(*chosen.open, form, *rivals))
        elif has_clock(form) or form == ISO:
            chosen = replace(chosen, timestamps=(*chosen.timestamps, form))
        else:
            chosen = replace(chosen, dates=(*chosen.dates, form))
        rest = [value for value in rest if not {form, *rivals} & set(_list_formats(value))]
    for formats in (chosen.dates, chosen.timestamps):
        for place, one in enumerate(formats):
            for other in formats[place + 1 :]:
                if _are_ambiguous(one, other):
                    chosen = replace(chosen, open=(*chosen.open, one, other))
    return replace(
        chosen,
        dates=tuple(form for form in chosen.dates if form not in chosen.open),
        timestamps=tuple(form for form in chosen.timestamps if form not in chosen.open),
    )


def _are_ambiguous(one: str, other: str) -> bool:
    return ISO not in (one, other) and find_ambiguous_text(one, other) is not None


def has_clock(form: str) -> bool:
    return "%H" in form or "%I" in form


@cache
def _list_formats(value: str) -> tuple[str, ...]:
    """Return the formats that read a text."""
    forms = DAYS if ":" not in value else tuple(f"{day}{clock}" for day in DAYS for clock in CLOCKS)
    found = tuple(form for form in forms if _is_time(value, (form,)))
    return found or ((ISO,) if re.fullmatch(ISO_DATE, value) else ())


def _is_time(value: str, formats: Sequence[str]) -> bool:
    return any(
        re.fullmatch(ISO_DATE, value) is not None
        if form == ISO
        else _compile(form).fullmatch(value) is not None and parse_time(value, form) is not None
        for form in formats
    )


@cache
def _compile(form: str) -> re.Pattern[str]:
    return re.compile(write_format_pattern(form))
