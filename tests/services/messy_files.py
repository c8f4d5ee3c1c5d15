"""Messy files, generated: one table of clinic visits as different programs and people would write it.

A `MessyFile` says how the custodian fills in the draft where `init` leaves something open, and what follows:
either the file is read right, or a sentence stops it, of which `stopped` is a part.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

ROWS = 300
NAMES = ("id", "visit", "kg", "sex", "town")
SEXES, TOWNS = ("Male", "Female"), ("Köln", "Bonn", "Łódź")
LATE = date(2024, 1, 1)
GERMAN_MONTHS = ("Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez")


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One row; nothing in it depends on how it is written."""

    id: int
    day: date
    kg: float
    sex: str
    town: str


VISITS = tuple(
    Visit(
        id=1000 + place,
        day=date(2023, 1, 1) + timedelta(days=place * 7 % 730),
        kg=50.25 + place % 97 / 2,
        sex=SEXES[place % 3 == 0],
        town=TOWNS[place % 3],
    )
    for place in range(ROWS)
)


@dataclass(frozen=True, kw_only=True)
class MessyFile:
    """A file's bytes, what the custodian decides, and what stops it, if anything does.

    `unit` is what a kilogram is in the file. `missing` is the place in a hundred rows whose kg is missing.
    """

    content: bytes
    suffix: str = ".csv"
    stopped: str = ""
    decided: Mapping[str, str] = field(default_factory=dict)
    unit: int = 1
    missing: frozenset[int] = frozenset()
    has_town: bool = True


def write(
    *,
    delimiter: str = ",",
    day: Callable[[Visit], str] = lambda visit: visit.day.isoformat(),
    kg: Callable[[Visit], str] = lambda visit: f"{visit.kg:.2f}",
    sex: Callable[[Visit], str] = lambda visit: visit.sex,
    town: Callable[[Visit], str] = lambda visit: visit.town,
    header: str | None = ",".join(NAMES),
    quote_all: bool = False,
    padding: str = "",
    end: str = "\n",
) -> str:
    """Return the table as text; values that have the delimiter are quoted."""
    lines = [] if header is None else [header.replace(",", delimiter)]
    for visit in VISITS:
        cells = [str(visit.id), day(visit), kg(visit), sex(visit), town(visit)]
        padded = [f"{padding}{cell}{padding}" for cell in cells]
        quoted = [
            '"' + cell.replace('"', '""') + '"' if quote_all or delimiter in cell or "\n" in cell else cell
            for cell in padded
        ]
        lines.append(delimiter.join(quoted))
    return end.join(lines) + end


def comma(visit: Visit) -> str:
    return f"{visit.kg:.2f}".replace(".", ",")


def group(thousands: str, decimal: str) -> Callable[[Visit], str]:
    """Return how grams are written with both marks."""
    swapped = str.maketrans({",": thousands, ".": decimal})
    return lambda visit: f"{visit.kg * 1000:,.2f}".translate(swapped)


def at(visit: Visit, *forms: str) -> str:
    """Return one of some forms of a day, in turn."""
    return visit.day.strftime(forms[visit.id % len(forms)])


def edit(text: str, change: Callable[[int, str], str]) -> str:
    """Return a text with each line changed by its number."""
    return "".join(f"{change(number, line)}\n" for number, line in enumerate(text.splitlines()))


def replace_some(text: str) -> Callable[[Visit], str]:
    """Return how kilograms are written if every tenth is a text that means a missing value."""
    return lambda visit: text if visit.id % 10 == 0 else f"{visit.kg:.2f}"


TENTH = frozenset(range(0, 100, 10))
ORDER = "the format that is meant"


def plain(text: str, **facts: object) -> MessyFile:
    return MessyFile(content=text.encode(), **facts)  # type: ignore[arg-type]


def encode(encoding: str, **facts: object) -> MessyFile:
    """Return a file in an encoding, with the towns whose letters it has."""
    has_pole = encoding not in ("cp1252", "latin-1")
    text = write(
        delimiter=";", town=lambda visit: visit.town if has_pole else visit.town.strip("Łódź") or "Bonn"
    )
    return MessyFile(content=text.encode(encoding), has_town=has_pole, **facts)  # type: ignore[arg-type]


DATES = {
    "three forms of dates": plain(
        write(delimiter=";", day=lambda visit: at(visit, "%d.%m.%Y", "%Y-%m-%d", "%d/%m/%y")),
        decided={"two_digit_years": "1930"},
    ),
    "a few dates in another form": plain(
        write(day=lambda visit: at(visit, *["%Y-%m-%d"] * 19, "%d.%m.%Y")),
    ),
    "American dates": plain(write(day=lambda visit: at(visit, "%m/%d/%Y"))),
    "two-digit years": plain(
        write(day=lambda visit: at(visit, "%m/%d/%y")), decided={"two_digit_years": "1930"}
    ),
    "two-digit years, undecided": plain(
        write(day=lambda visit: at(visit, "%m/%d/%y")), stopped="two_digit_years: the first of the hundred"
    ),
    "days that may be months": plain(
        write(day=lambda visit: visit.day.replace(day=visit.day.day % 12 + 1).strftime("%d/%m/%Y")),
        stopped=ORDER,
    ),
    "both orders of days and months": plain(
        write(day=lambda visit: at(visit, "%d/%m/%Y", "%m/%d/%Y")), stopped=ORDER
    ),
    "names of months": plain(write(day=lambda visit: at(visit, "%d-%b-%Y"))),
    "German names of months": plain(
        write(day=lambda visit: f"{visit.day.day}. {GERMAN_MONTHS[visit.day.month - 1]} {visit.day.year}"),
        stopped="Name their format under csv",
    ),
    "days of a spreadsheet": plain(
        write(day=lambda visit: str((visit.day - date(1899, 12, 30)).days)),
        stopped="cannot be read as a date",
    ),
    "a day that is none": plain(
        write(day=lambda visit: "31.02.2024" if visit.id % 20 == 0 else at(visit, "%d.%m.%Y")),
        stopped="or correct them in the file",
    ),
}
NUMBERS = {
    "decimal commas": plain(write(delimiter=";", kg=comma)),
    "decimal commas in quotes": plain(write(kg=comma)),
    "points for thousands": plain(write(delimiter=";", kg=group(".", ",")), unit=1000),
    "commas for thousands": plain(write(kg=group(",", ".")), unit=1000),
    "blanks for thousands": plain(write(delimiter=";", kg=group(" ", ",")), unit=1000),
    "narrow blanks for thousands": plain(write(delimiter=";", kg=group("\u202f", ",")), unit=1000),
    "apostrophes for thousands": plain(write(delimiter=";", kg=group("'", ".")), unit=1000),
    "points for thousands alone": plain(
        write(delimiter=";", kg=lambda visit: f"{visit.kg * 1000:,.0f}".replace(",", ".")),
        stopped="csv.decimal: the decimal mark",
    ),
    "points for thousands alone, decided": plain(
        write(delimiter=";", kg=lambda visit: f"{visit.kg * 1000:,.0f}".replace(",", ".")),
        decided={"decimal": '","\n      thousands: "."'},
        unit=1000,
    ),
    "three decimals after a comma": plain(
        write(delimiter=";", kg=lambda visit: f"{visit.kg:.3f}".replace(".", ",")),
        stopped="csv.decimal: the decimal mark",
    ),
    "three decimals, decided wrongly": plain(
        write(delimiter=";", kg=lambda visit: f"{visit.kg:.3f}".replace(".", ",")),
        decided={"decimal": '"."'},
        stopped='csv: {decimal: ","} to the table if 1,234 is less than two',
    ),
    "both decimal marks": plain(
        write(delimiter=";", kg=lambda visit: comma(visit) if visit.id % 2 else f"{visit.kg:.2f}"),
        stopped="cannot be read as a number",
    ),
    "a few decimal commas": plain(
        write(delimiter=";", kg=lambda visit: comma(visit) if visit.id % 25 == 0 else f"{visit.kg:.2f}"),
        stopped='csv: {decimal: ","}',
    ),
    "percent signs": plain(write(kg=lambda visit: f"{visit.kg:.2f}%"), stopped="without %,"),
    "currency signs": plain(write(kg=lambda visit: f"${visit.kg:.2f}"), stopped="without $,"),
    "units": plain(write(delimiter=";", kg=lambda visit: f"{comma(visit)} kg"), stopped="without kg,"),
    "negatives in brackets": plain(
        write(kg=lambda visit: f"({visit.kg:.2f})"), stopped="cannot be read as a number"
    ),
    "scientific numbers": plain(write(kg=lambda visit: f"{visit.kg:.4e}")),
    "a plus before numbers": plain(write(kg=lambda visit: f"+{visit.kg:.2f}")),
    "infinities": plain(write(kg=replace_some("Inf")), stopped="above the bounds"),
    "NaN": plain(write(kg=replace_some("NaN")), missing=TENTH),
    "NA": plain(write(kg=replace_some("NA")), missing=TENTH),
    "an N after a backslash": plain(write(kg=replace_some("\\N")), missing=TENTH),
    "-999 for missing": plain(write(kg=replace_some("-999")), stopped="below the bounds"),
    "huge numbers": plain(write(kg=lambda visit: str(10**30 + visit.id)), stopped="above the bounds"),
}
TEXTS = {
    "blanks around values": plain(write(padding="  ")),
    "tabs around values": plain(write(delimiter=";", padding="\t")),
    "hard blanks around values": plain(write(delimiter=";", padding="\u00a0")),
    "spellings in capitals": plain(write(sex=lambda visit: visit.sex.upper()), stopped="'MALE' for 'Male'"),
    "accents as letters of their own": plain(
        write(town=lambda visit: unicodedata.normalize("NFD", visit.town)), stopped="Declare them as the data"
    ),
    "UTF-8 with a mark": encode("utf-8-sig"),
    "UTF-16": encode("utf-16"),
    "UTF-16 without a mark": encode("utf-16-le"),
    "UTF-32": encode("utf-32"),
    "cp1252": encode("cp1252"),
    "Latin-1": encode("latin-1"),
    "an encoding of a Mac": MessyFile(
        content=write(town=lambda visit: visit.town.replace("Łódź", "Köln")).encode("mac-roman"),
        stopped="are not among the declared values",
    ),
    "zero bytes": MessyFile(
        content=write().encode().replace(b"Bonn", b"Bo\0nn"), stopped="are not among the declared values"
    ),
}
MARKS = {
    "carriage returns": plain(write(end="\r")),
    "both ends of lines": plain(edit(write(), lambda number, line: f"{line}\r" if number % 2 else line)),
    "blank lines": plain(write().replace("\n", "\n\n")),
    "quotes around everything": plain("\ufeff" + write(quote_all=True)),
    "lines within values": plain(
        write(town=lambda visit: f"{visit.town}\n(D)"), has_town=False, decided={"quoted": "yes"}
    ),
    "a stray quote in the first row": plain(write().replace(",Köln", ',"Köln', 1)),
    "a stray quote here and there": plain(
        edit(write(), lambda number, line: line.replace(",Bonn", ',"Bonn') if number % 30 == 2 else line),
        stopped="are not among the declared values",
    ),
    "quotes after a backslash": plain(
        write().replace("Köln", '"K\\"öln"'), has_town=False, stopped="within quoted values may be rows"
    ),
    "delimiters within values": plain(
        write().replace("Bonn", "Bonn, D"), stopped="too few or too many fields"
    ),
    "a few long rows": plain(
        edit(write(), lambda number, line: f"{line},x" if number % 20 == 5 else line),
        stopped="too few or too many fields",
    ),
    "a few short rows": plain(
        edit(write(), lambda number, line: line.rpartition(",")[0] if number % 20 == 5 else line),
        stopped="too few or too many fields",
    ),
    "a last delimiter": plain(edit(write(), lambda number, line: f"{line},")),
    "a last delimiter in rows alone": plain(
        edit(write(), lambda number, line: f"{line}," if number else line)
    ),
    "pipes": plain(write(delimiter="|")),
    "tabs": plain(write(delimiter="\t"), suffix=".tsv"),
    "two colons": plain(write(delimiter="::")),
    "carets": plain(write(delimiter="^")),
    "a line for Excel": plain(f"sep=;\n{write(delimiter=';')}"),
    "comments": plain(
        "# of the clinic\n"
        + edit(write(), lambda number, line: f"{line}\n# {line}" if number % 9 == 1 else line)
    ),
}
HEADERS = {
    "no header": plain(write(delimiter=", ", header=None)),
    "a title": plain(f"Visits of the clinic\nas of 2024-01-01\n\n{write()}"),
    "a title with delimiters": plain(f"Visits;;;;\n;;;;\n{write(delimiter=';')}"),
    "a header with a name less": plain(write(header="visit,kg,sex,town")),
    "quoted names": plain(write(header='"id","visit","kg","sex","town"')),
    "a mark and quoted names": plain("\ufeff" + write(header='"id","visit","kg","sex","town"')),
    "empty and repeated names": plain(write(header=",visit,kg,sex,sex")),
    "names over two lines": plain(write(header='id,visit,"kg\n(net)",sex,town')),
    "names with units": plain(write(header="id,visit (date),Gewicht/kg,sex,town")),
    "names of SQL": plain(write(header="select,from,where,group,order")),
}
MESSY_FILES = {**DATES, **NUMBERS, **TEXTS, **MARKS, **HEADERS}
