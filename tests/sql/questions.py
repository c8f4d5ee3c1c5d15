"""Random questions: whatever the grammar of docs/sql.md allows.

Expressions of every function, conditions, keys, projections, joins by person and by link, and totals per
person, one within the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.sql.empty_results import has_false_condition
from tests.sql.tables import COLUMNS, LINKS, Choose, identifier


@dataclass(frozen=True, kw_only=True)
class Source:
    """What stands behind FROM, and the columns that it has, by what can be done with them."""

    text: str
    numbers: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    person: str | None = None
    tables: tuple[tuple[str, str], ...] = ()

    def beside(self, other: Source, text: str) -> Source:
        return Source(
            text=text,
            numbers=self.numbers + other.numbers,
            wide=self.wide + other.wide,
            texts=self.texts + other.texts,
            categories=self.categories + other.categories,
            flags=self.flags + other.flags,
            days=self.days + other.days,
            times=self.times + other.times,
            person=self.person or (None if " LEFT JOIN " in text else other.person),
            tables=self.tables + other.tables,
        )


def table(name: str, alias: str) -> Source:
    names: dict[str, list[str]] = {}
    for column, (entry, _) in COLUMNS[name].items():
        kind = {"integer": "numbers", "decimal": "numbers", "date": "days", "timestamp": "times"}
        place = kind.get(
            str(entry["type"]),
            {"category": "categories", "boolean": "flags"}.get(str(entry["type"]), "texts"),
        )
        if place == "numbers" and "low" not in entry:
            place = "wide"
        names.setdefault(place, []).append(f"{alias}.{column}")
    person = f"{alias}.person" if "person" in identifier(name) else None
    columns = {place: tuple(each) for place, each in names.items()}
    return Source(text=f"{name} AS {alias}", person=person, tables=((name, alias),), **columns)


NUMERALS = ("0", "1", "2", "3", "-1", "0.5", "-0.1", "1.005", "1e-1", "100000", "NULL")
PIECES = ("'m'", "'a'", "'zz'", "''", "'7'", "'1e400'", "NULL")
DAYS = ("DATE '2020-01-31'", "DATE '0001-01-01'")
PARTS = ("year", "quarter", "month", "week", "day", "dow", "hour", "minute")
UNITS = ("year", "quarter", "month", "week", "day", "hour")


@dataclass(frozen=True)
class Writer:
    """Writes expressions over a source; `depth` is how far they may still nest."""

    choose: Choose
    source: Source

    def one(self, *options: Any) -> Any:
        return self.choose(options)

    def bounded(self, depth: int) -> str:
        """A number whose interval follows from the policy."""
        leaves = (*self.source.numbers * 4, *NUMERALS[:-1])
        if depth <= 0:
            return str(self.one(*leaves))
        a = self.bounded(depth - 1)
        form = self.one(*range(16))
        if form == 0:
            return str(self.one(*leaves))
        if form <= 3:
            return f"({a} {self.one('+', '-', '*', '%')} {self.bounded(depth - 1)})"
        if form == 4:
            return f"({a} / {self.one('2', '-0.1', '100000', f'(ABS({self.bounded(depth - 1)}) + 1)')})"
        if form <= 7:
            return f"{self.one('-', 'ABS', 'FLOOR', 'CEIL', 'ROUND')}({a})"
        if form == 8:
            return f"ROUND({a}, {self.one('1', '2', '3', '-1')})"
        if form == 9:
            return f"CAST({a} AS {self.one('INTEGER', 'DOUBLE', 'DECIMAL(9, 2)', 'DECIMAL(3, 1)')})"
        if form <= 11:
            name = self.one("LEAST", "GREATEST", "COALESCE", "NULLIF")
            return f"{name}({a}, {self.bounded(depth - 1)})"
        if form == 12:
            return f"CAST({self.condition(depth - 1)} AS INTEGER)"
        if form == 13 and self.source.days:
            return f"EXTRACT({self.one(*PARTS)} FROM {self.day(depth - 1, plain=True)})"
        if form == 14 and self.source.wide:
            ends = (self.one("0", "-2", *self.source.numbers), self.one("3", "0.5", *self.source.numbers))
            return f"LEAST(GREATEST({self.number(depth - 1)}, {ends[0]}), {ends[1]})"
        otherwise = self.one("", f"ELSE {self.bounded(depth - 1)} ")
        return f"CASE WHEN {self.condition(depth - 1)} THEN {a} {otherwise}END"

    def number(self, depth: int) -> str:
        """Any number."""
        leaves = (*self.source.wide, *self.source.wide, *self.source.numbers, *NUMERALS)
        if depth <= 0:
            return str(self.one(*leaves))
        form = self.one(*range(9))
        if form <= 1:
            return self.bounded(depth)
        if form <= 4:
            return f"({self.number(depth - 1)} {self.one('+', '-', '*', '/', '%')} {self.number(depth - 1)})"
        if form == 5:
            return f"{self.one('-', 'ABS', 'FLOOR', 'ROUND')}({self.number(depth - 1)})"
        if form == 6:
            return f"CAST({self.text(depth - 1)} AS {self.one('INTEGER', 'DOUBLE', 'DECIMAL(9, 2)')})"
        if form == 7:
            return f"LENGTH({self.text(depth - 1)})"
        return f"COALESCE({self.number(depth - 1)}, {self.number(depth - 1)})"

    def text(self, depth: int) -> str:
        leaves = (*self.source.texts, *self.source.categories, *self.source.categories, *PIECES)
        if depth <= 0:
            return str(self.one(*leaves))
        form = self.one(*range(6))
        if form == 0:
            return f"{self.one('LOWER', 'UPPER')}({self.text(depth - 1)})"
        if form == 1:
            return f"SUBSTR({self.text(depth - 1)}, {self.number(depth - 1)}, {self.number(depth - 1)})"
        if form == 2:
            return f"CAST({self.one(self.number, self.day)(depth - 1)} AS VARCHAR)"
        if form == 3:
            name = self.one("LEAST", "GREATEST", "COALESCE", "NULLIF")
            return f"{name}({self.text(depth - 1)}, {self.text(depth - 1)})"
        if form == 4:
            then, otherwise = self.text(depth - 1), self.text(depth - 1)
            return f"CASE WHEN {self.condition(depth - 1)} THEN {then} ELSE {otherwise} END"
        return str(self.one(*leaves))

    def day(self, depth: int, *, plain: bool = False) -> str:
        leaves = (*self.source.days, *self.source.days, *DAYS)
        if depth <= 0:
            return str(self.one(*leaves))
        form = self.one(*range(4 if not plain else 2))
        if form == 0 and self.source.times and not plain:
            return f"CAST(DATE_TRUNC('{self.one(*UNITS)}', {self.one(*self.source.times)}) AS DATE)"
        if form == 0:
            return f"DATE_TRUNC('{self.one(*UNITS)}', {self.day(depth - 1, plain=plain)})"
        if form == 1:
            return str(self.one(*leaves))
        if form == 2:
            return f"CAST({self.one(*self.source.texts, *self.source.times, 'LOWER(NULL)')} AS DATE)"
        return f"COALESCE({self.day(depth - 1)}, {self.day(depth - 1)})"

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return str(self.one(*self.source.flags * 3, "TRUE", "NULL"))
        form = self.one(*range(10))
        family = self.one(self.number, self.bounded, self.text, self.day)
        if form <= 2:
            sign = self.one("=", "<>", "<", "<=", ">", ">=")
            return f"({family(depth - 1)} {sign} {family(depth - 1)})"
        if form == 3:
            return f"({family(depth - 1)} IN ({family(depth - 1)}, {family(depth - 1)}))"
        if form == 4:
            return f"({family(depth - 1)} BETWEEN {family(depth - 1)} AND {family(depth - 1)})"
        if form == 5:
            return f"({family(depth - 1)} IS {self.one('', 'NOT ')}NULL)"
        if form <= 7:
            return f"({self.condition(depth - 1)} {self.one('AND', 'OR')} {self.condition(depth - 1)})"
        if form == 8:
            return f"(NOT {self.condition(depth - 1)})"
        return f"({self.text(depth - 1)} LIKE {self.text(depth - 1)})"

    def key(self, depth: int) -> str:
        """Something to group by; mostly a column."""
        plain = (*self.source.categories, *self.source.numbers, *self.source.flags, *self.source.days)
        odd = (*self.source.texts, *self.source.wide, *self.source.times)
        form = self.one(*range(8))
        if form <= 3 and plain:
            return str(self.one(*plain))
        if form == 4 and odd:
            return str(self.one(*odd))
        return self.of_rows(self.one(self.bounded, self.number, self.text, self.condition, self.day)(depth))

    def of_rows(self, expression: str) -> str:
        """Constants are neither aggregated nor grouped by."""
        return expression if re.search(r"\bt\d+\.", expression) else str(self.one(*self.source.numbers))

    def where(self, word: str, depth: int) -> str:
        """A condition, or none; never one that is literally false, over which nothing is measured."""
        made = str(self.one("", "", f" {word} {self.condition(depth)}"))
        if not made.startswith(" WHERE"):
            return made
        select = parse_one(f"SELECT 1 FROM t{made}", read="duckdb")
        assert isinstance(select, exp.Select)
        return "" if has_false_condition(select) else made

    def measure(self, depth: int) -> str:
        x, filtered = self.of_rows(self.bounded(depth)), self.one(False, False, False, True)
        name = self.one(
            "COUNT", "SUM", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "VARIANCE", "STDDEV_POP", "Q", "N", "D", "B"
        )
        if name == "Q":
            text = f"QUANTILE_CONT({x}, {self.one('0.25', '0.9', '0', '1', '0.3')})"
        elif name == "N":
            text = self.one(
                "COUNT(*)",
                f"MODE({self.one(*self.source.categories)})" if self.source.categories else "COUNT(*)",
            )
        elif name == "B":
            text = f"{self.one('BOOL_OR', 'BOOL_AND')}({self.condition(depth)})"
        elif name == "D":
            inner = self.one(self.number, self.text, self.day)(depth)
            text = f"COUNT(DISTINCT {self.one(inner, self.source.person or inner)})"
        else:
            text = f"{name}({x})"
        return f"{text} FILTER (WHERE {self.condition(depth)})" if filtered else text


TOTALS = ("SUM", "AVG", "MIN", "MAX", "COUNT")


@dataclass
class Namer:
    """Aliases that no other part of the question has."""

    used: int = 0

    def next(self) -> str:
        self.used += 1
        return f"t{self.used}"


def drawn_source(choose: Choose, names: Namer, depth: int, *, person: bool = False) -> Source:
    """A table, a join, a projection or totals per person."""
    tables = ("visits", "stays") if person else ("people", "visits", "stays", "notes", "lines")
    found = table(choose(tables), names.next())
    for _ in range(depth):
        form = choose(range(8))
        side = choose(("JOIN", "LEFT JOIN"))
        links = [(mine, *link) for mine in found.tables for link in _links(mine[0])]
        if form in (0, 7) and links:
            (_, alias), name, here, there = choose(links)
            other = table(name, names.next())
            on = f"{alias}.{here} = {other.tables[0][1]}.{there}"
            found = found.beside(other, f"{found.text} {side} {other.text} ON {on}")
        elif form == 1 and found.person is not None:
            other = drawn_source(choose, names, depth - 1, person=True)
            if " JOIN " not in other.text.rsplit(")", 1)[-1]:
                found = found.beside(
                    other, f"{found.text} {side} {other.text} ON {found.person} = {other.person}"
                )
        elif form <= 3:
            found = _projected(choose, names, found)
        elif form <= 5 and found.person is not None:
            found = _per_person(choose, names, found)
    return found


def _links(table: str) -> list[tuple[str, str, str]]:
    """The tables that a table links to, or that link to it, and the columns that a join compares."""
    found = []
    for name, links in LINKS.items():
        for column, link in links.items():
            target, key = link.split(".")
            if name == table:
                found.append((target, column, key))
            if target == table and target != "depts":
                found.append((name, key, column))
    return found


def _projected(choose: Choose, names: Namer, inner: Source) -> Source:
    writer, alias = Writer(choose, inner), names.next()
    parts = {
        "n": writer.bounded(1),
        "o": writer.one(*inner.numbers) if inner.numbers else "1",
        "u": writer.number(1),
        "t": writer.text(1),
        "c": writer.one(*inner.categories) if inner.categories else "'a'",
        "f": writer.condition(1),
        "d": writer.day(1),
    }
    shown = [f"{text} AS {name}" for name, text in parts.items()]
    shown += [f"{inner.person} AS person"] if inner.person else []
    return Source(
        text=f"(SELECT {', '.join(shown)} FROM {inner.text}{writer.where('WHERE', 1)}) AS {alias}",
        numbers=(f"{alias}.n", f"{alias}.o"),
        wide=(f"{alias}.u",),
        texts=(f"{alias}.t",),
        categories=(f"{alias}.c",) if inner.categories else (),
        flags=(f"{alias}.f",),
        days=(f"{alias}.d",),
        person=f"{alias}.person" if inner.person else None,
    )


def _per_person(choose: Choose, names: Namer, inner: Source) -> Source:
    writer, alias = Writer(choose, inner), names.next()
    filtered = writer.where("FILTER (WHERE", 1)
    first = writer.one(*TOTALS)
    shown = [
        f"{inner.person} AS person",
        f"{first}({writer.bounded(1)}){filtered}{')' if filtered else ''} AS n",
        f"{writer.one(*TOTALS)}({writer.one(*inner.numbers) if inner.numbers else '1'}) AS o",
        f"{writer.one('COUNT(*)', f'COUNT({writer.text(1)})', f'COUNT(DISTINCT {writer.text(1)})')} AS p",
        f"MAX({writer.bounded(1)}) - COUNT(*) * {writer.one(*NUMERALS[:4])} AS s",
        f"{writer.one(*TOTALS)}({writer.number(1)}) AS u",
        f"{writer.one('MIN', 'MAX')}({writer.text(1)}) AS t",
        f"{writer.one('MIN', 'MAX')}({writer.day(1)}) AS d",
        f"{writer.one('BOOL_OR', 'BOOL_AND')}({writer.condition(1)}) AS f",
    ]
    where = writer.where("WHERE", 1)
    key = writer.one(
        None, None, writer.one(*inner.categories) if inner.categories else None, writer.bounded(1)
    )
    shown += [f"{key} AS k"] if key else []
    group = ", ".join(writer.one([inner.person, key], [key, inner.person]) if key else [str(inner.person)])
    having = writer.one("", "", " HAVING COUNT(*) > 1", " HAVING n > p")
    categories = [f"{alias}.k"] if key in inner.categories else []
    if inner.categories:
        shown.append(f"MAX({writer.one(*inner.categories)}) AS c")
        categories.append(f"{alias}.c")
    return Source(
        text=f"(SELECT {', '.join(shown)} FROM {inner.text}{where} GROUP BY {group}{having}) AS {alias}",
        numbers=(f"{alias}.n", f"{alias}.o", f"{alias}.p", f"{alias}.s"),
        wide=(f"{alias}.u",),
        texts=(f"{alias}.t",),
        categories=tuple(categories),
        flags=(f"{alias}.f",),
        days=(f"{alias}.d",),
        person=f"{alias}.person",
    )


def question(choose: Choose) -> str:
    """One question, which may still be refused."""
    source = drawn_source(choose, Namer(), choose((0, 0, 1, 2)))
    writer = Writer(choose, source)
    keys = [writer.key(1) for _ in range(choose((0, 0, 1, 1, 2)))]
    measures = [writer.measure(choose((0, 1, 2))) for _ in range(choose((1, 2)))]
    shown = [f"{text} AS a{place}" for place, text in enumerate([*keys, *measures])]
    group = f" GROUP BY {', '.join(f'a{place}' for place in range(len(keys)))}" if keys else ""
    text = f"{', '.join(shown)} FROM {source.text}{writer.where('WHERE', 2)}{group}"
    if source.text.startswith("(") and " JOIN " not in source.text and choose((True, False)):
        inner, alias = source.text[1:].rsplit(") AS ", 1)
        return f"WITH {alias} AS ({inner}) SELECT {text.replace(source.text, alias)}"
    return f"SELECT {text}"


@st.composite
def questions(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """The same, by hypothesis, which makes what fails small."""
    return question(lambda options: draw(st.sampled_from(options)))
