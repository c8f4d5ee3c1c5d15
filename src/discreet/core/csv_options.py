"""Reading options of a CSV source: the `csv:` section of a policy's table.

    csv: {delimiter: ";", encoding: cp1252, decimal: ",", thousands: ".", dates: ["%d.%m.%Y"]}

Dates are read by the formats that are declared and by no other; without any, ISO dates are read. A text that
two declared formats read as different days, such as 05/06/2025 by %d/%m/%Y and by %m/%d/%Y, would be a guess:
such a pair is refused when the policy is read, whatever the file holds. A year of two digits is read only
with `two_digit_years`, the first year of the hundred that is meant.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import combinations
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from discreet.core.hierarchy_entry import StrictModel

FIELD_PATTERNS = {
    "%d": "[0-9]{1,2}",
    "%m": "[0-9]{1,2}",
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]{3,9}",
    "%H": "[0-9]{1,2}",
    "%M": "[0-9]{1,2}",
    "%S": "[0-9]{1,2}",
    "%f": "[0-9]{1,6}",
    "%I": "[0-9]{1,2}",
    "%p": "[AaPp][Mm]",
    "%z": "[+-][0-9]{2}:?[0-9]{2}",
}
"""The directives of a date format, each with the text that it reads."""
DIRECTIVE = re.compile(r"%.?")
FIRST_PIVOT, LAST_PIVOT = 1800, 2100
WINDOW_YEARS = (1999, 2001, 2011, 2024)
NO_DELIMITER = "\x1f"
"""The delimiter of a file with one column, whose values may hold any usual mark."""
USUAL_DELIMITERS = ",;\t|"
ISO_DATE = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?"
"""The dates that are read without a declared format: DuckDB would read 05/06/25 as a day of the year 5."""

UNSAFE_ENCODINGS = re.compile(r"iso2022|hz|utf-7|idna|punycode|undefined|(raw-)?unicode-escape|oem|mbcs")
"""Encodings in which one value could change how the text after it is read, or which machines differ in."""
MAX_MARK_BYTES = 4
CONTROL_MARKS = {chr(code) for code in range(32)} - {"\t"}
Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda value: (value,) if isinstance(value, str) else value,
        json_schema_input_type=str | tuple[str, ...],
    ),
]
"""One text, or a list of them."""


class CsvOptions(StrictModel):
    """How the text of a CSV source is read; what is not declared has the value that most files need."""

    delimiter: str | None = Field(
        default=None,
        min_length=1,
        description="What separates values, at most four bytes. By default the mark that finds the declared "
        "columns in the header; a comma where there is no header.",
        examples=[";"],
    )
    quote: str = Field(
        default='"',
        max_length=1,
        description="The mark around a value that holds delimiters or ends of lines; two of them within it "
        'are one. "" if marks quote nothing, as in a file with 5" pipes.',
        examples=["'"],
    )
    encoding: str = Field(
        default="utf-8",
        description="The encoding of the text: utf-8, cp1252, latin-1, utf-16 or another that Python knows.",
        examples=["cp1252"],
    )
    decimal: Literal[".", ","] = Field(
        default=".", description="The decimal mark of numbers.", examples=[","]
    )
    thousands: Literal[".", ",", " ", "'", "\u00a0", "\u202f"] | None = Field(
        default=None,
        description="What separates groups of three digits, if anything.",
        examples=["."],
    )
    dates: Texts = Field(
        default=(),
        description="The formats of dates, one or several, by which alone they are read; by default ISO's "
        "(2024-01-31). Two formats that read one text as different days are refused.",
        examples=[["%d.%m.%Y", "%Y-%m-%d"]],
    )
    timestamps: Texts = Field(
        default=(),
        description="The formats of times, one or several, by which alone they are read; by default ISO's "
        "(2024-01-31 12:00:00).",
        examples=[["%d.%m.%Y %H:%M"]],
    )
    two_digit_years: int | None = Field(
        default=None,
        ge=FIRST_PIVOT,
        le=LAST_PIVOT,
        description="The first of the hundred years that %y means: 1930 reads 30 as 1930 and 29 as 2029. A "
        "format with %y needs it.",
        examples=[1930],
    )
    nulls: Texts = Field(
        default=("",),
        description="Texts that mean a missing value, in every column; an empty value always does.",
        examples=[["?", "NA"]],
    )
    header: bool = Field(
        default=True,
        description="Whether the first line has the names of the columns; if not, names has them.",
        examples=[False],
    )
    names: tuple[str, ...] = Field(
        default=(),
        description="The names of all columns, in place of the header or where there is none.",
        examples=[["age", "workclass"]],
    )
    comment: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="The mark that begins a line of comment; within a line it is a part of the value.",
        examples=["#"],
    )
    skip: int = Field(
        default=0, ge=0, le=10_000, description="How many lines to leave out before the header.", examples=[2]
    )
    sheet: str | None = Field(
        default=None,
        min_length=1,
        description="The name of the sheet of an Excel file that is read; by default the first.",
        examples=["Visits 2024"],
    )
    trim: bool = Field(
        default=True, description="Whether blanks around values are left out.", examples=[False]
    )

    @field_validator("delimiter", "quote", "comment")
    @classmethod
    def _check_mark(cls, value: str | None) -> str | None:
        if value and (len(value.encode()) > MAX_MARK_BYTES or set(value) & CONTROL_MARKS):
            raise ValueError("it must be a mark of at most four bytes, and no end of a line")
        return value

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, value: str) -> str:
        try:
            codec = codecs.lookup(value)
        except LookupError:
            raise ValueError(
                f"there is no encoding {value!r}; common ones are utf-8, cp1252, latin-1"
            ) from None
        if not codec._is_text_encoding or UNSAFE_ENCODINGS.match(codec.name):
            raise ValueError(f"{value!r} is not an encoding in which each character stands for itself")
        return codec.name

    @model_validator(mode="after")
    def _check_consistency(self) -> CsvOptions:
        for mark in filter(None, (self.quote, self.comment)):
            if not mark.isascii() or mark in (self.delimiter or ""):
                raise ValueError("quote and comment must be marks of ASCII that the delimiter does not have")
        if self.quote and self.quote == self.comment:
            raise ValueError("quote and comment must be different marks")
        if self.thousands == self.decimal:
            raise ValueError("decimal and thousands must be different marks")
        if not self.header and not self.names:
            raise ValueError("a file without a header needs names, one for each column")
        if len({name.lower() for name in self.names}) < len(self.names):
            raise ValueError("names must be different")
        for each in (*self.dates, *self.timestamps):
            self._check_format(each, is_timestamp=each in self.timestamps)
        for kind, formats in (("dates", self.dates), ("timestamps", self.timestamps)):
            for one, other in combinations(formats, 2):
                if (text := find_ambiguous_text(one, other)) is not None:
                    raise ValueError(
                        f"{kind}: {text} is another day by {one} than by {other}; declare the one meant"
                    )
        return self

    def _check_format(self, form: str, *, is_timestamp: bool) -> None:
        used = DIRECTIVE.findall(form)
        unknown = [each for each in used if each not in FIELD_PATTERNS]
        if unknown:
            raise ValueError(
                f"the format {form!r} has {unknown[0]}; formats are written with {' '.join(FIELD_PATTERNS)}"
            )
        if not (
            used.count("%d") == 1
            and sum(used.count(each) for each in ("%m", "%b", "%B")) == 1
            and sum(used.count(each) for each in ("%Y", "%y")) == 1
        ):
            raise ValueError(f"the format {form!r} must have one day (%d), one month (%m) and one year (%Y)")
        if "%y" in used and self.two_digit_years is None:
            raise ValueError(
                f"the format {form!r} has a year of two digits: declare two_digit_years, such as 1930"
            )
        if not is_timestamp and set(used) & {"%H", "%M", "%S", "%f", "%I", "%p", "%z"}:
            raise ValueError(f"the format {form!r} has a time of day: it belongs under timestamps")


def write_format_pattern(form: str) -> str:
    """Return the regular expression that a text must match in full to be read by a format.

    Drivers read %Y from two digits as well, so that 05/06/25 would be the year 25.

    >>> write_format_pattern("%d.%m.%Y")
    '[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}'
    """
    pieces, at = [], 0
    # where nothing separates numbers, such as in %d%m%Y, each has all its digits
    whole = re.search(r"%[dmHMSI]%[dmHMSIYyf]|%[Yy]%[dmHMSI]", form) is not None
    for match in DIRECTIVE.finditer(form):
        field = FIELD_PATTERNS[match[0]]
        pieces += [
            _write_literal(form[at : match.start()]),
            field.replace("{1,2}", "{2}") if whole else field,
        ]
        at = match.end()
    return "".join([*pieces, _write_literal(form[at:])])


def find_ambiguous_text(one: str, other: str) -> str | None:
    """Return a text that two formats read as different times, or None if there is none.

    >>> find_ambiguous_text("%d/%m/%Y", "%m/%d/%Y")
    '02/01/1999'
    >>> find_ambiguous_text("%d.%m.%Y", "%Y-%m-%d") is None
    True
    """
    for written, read in ((one, other), (other, one)):
        pattern = re.compile(write_format_pattern(read))
        for moment in _list_moments():
            text = moment.strftime(written)
            if pattern.fullmatch(text) and parse_time(text, read) not in (None, parse_time(text, written)):
                return text
    return None


def _list_moments() -> Iterator[datetime]:
    """List days such that every confusion of day, month and year shows in one of them."""
    for year in WINDOW_YEARS:
        for place in range(0, 365):
            yield datetime(year, 1, 1, 13, 14, 15) + timedelta(days=place)


def parse_time(text: str, form: str) -> datetime | None:
    """Return the time that a format reads from a text, or None."""
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _write_literal(text: str) -> str:
    return "".join(each if each.isalnum() or each in " _" else f"[{_escape(each)}]" for each in text)


def _escape(mark: str) -> str:
    return f"\\{mark}" if mark in "\\]^-" else mark
