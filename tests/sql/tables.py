"""Small tables whose values are full of what a policy does not declare, and their neighbours.

Tables      rows that are people, people with several rows, people in several groups, rows whose person is
            found through one link (notes) or two (lines), and a public table that has keys twice. Every
            value is text, as from a CSV file, and much of it is beyond bounds, NaN, infinite, unreadable or
            missing.
Neighbours  value: one person's rows in all tables are others, or fewer; presence: one person is there or not.
            That person's visits and notes may bear the keys of other people's; the notes and lines that come
            and go with the person name keys that nobody else has, as they would be about others too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy

Row = Mapping[str, str | None]
ByPerson = Mapping[str, tuple[Row, ...]]
Choose = Callable[[Sequence[Any]], Any]

ANY_NUMBER = [
    None,
    "",
    "x",
    "nan",
    "inf",
    "-inf",
    "-0.0",
    "1e400",
    "9223372036854775807",
    "-9223372036854775808",
]
ANY_TEXT = [None, "", "a", "B", "%", "\\", "ß€", "7", "-0.0", "nan", "inf", "1e400", "true", "2020-02-30"]
ANY_DAY = [None, "", "x", "infinity", "1900-01-01", "9999-12-31", "5881580-07-10", "5877642-06-25 (BC)"]
WIDE = ["9223372036854775807", "-9223372036854775808", "0", "5", "-3", None, "x"]
FLOATS = ["1e308", "-1e308", "0.1", "0.2", "-0.0", "0", "nan", "inf", "5e-324", "3", None]


def _entry(kind: str, **more: object) -> dict[str, object]:
    return {"type": kind, **more}


COLUMNS: dict[str, dict[str, tuple[dict[str, object], list[str | None]]]] = {
    "people": {
        "age": (
            _entry("integer", low=0, high=6, nulls=True),
            ["0", "1", "3", "5", "6", "-5", "99", *ANY_NUMBER],
        ),
        "income": (
            _entry("decimal", low="-1", high=2, resolution="0.25"),
            ["-1", "2", "0.3", "0", *ANY_NUMBER],
        ),
        "sex": (_entry("category", values=["m", "f", "ß"], nulls=True), ["m", "f", "ß", "zz", "", None]),
        "flag": (_entry("boolean", nulls=True), ["true", "0", "maybe", None]),
        "born": (_entry("date", low="2020-01-30", high="2020-02-02"), ["2020-01-31", "2020-02-01", *ANY_DAY]),
        "seen": (_entry("timestamp"), ["2020-01-31 23:59:59", "0001-01-01", "9999-12-31 23:59:59", *ANY_DAY]),
        "note": (_entry("text"), [*ANY_TEXT, *ANY_DAY]),
        "wide": (_entry("integer"), WIDE),
        "ratio": (_entry("decimal"), FLOATS),
        "dept": (_entry("integer", low=0, high=3), ["0", "1", "2", "3", None]),
    },
    "visits": {
        "cost": (_entry("integer", low=-3, high=10), ["-3", "10", "0", "-9", "88", *ANY_NUMBER]),
        "score": (
            _entry("decimal", low=0, high=1, resolution="0.1"),
            ["0", "0.1", "0.3", "0.7", "1", *ANY_NUMBER],
        ),
        "kind": (_entry("category", values=["z", "a", "m"]), ["z", "a", "m", "q", None]),
        "day": (_entry("date", low="2020-01-01", high="2020-01-03", nulls=True), ["2020-01-02", *ANY_DAY]),
        "text": (_entry("text"), ANY_TEXT),
        "wide": (_entry("integer"), WIDE),
        "ratio": (_entry("decimal"), FLOATS),
        "dept": (_entry("integer", low=0, high=3), ["0", "1", "2", "3", None]),
    },
    "stays": {
        "days": (_entry("integer", low=1, high=4), ["1", "4", "2", "0", "9", *ANY_NUMBER]),
        "ward": (_entry("category", values=["n", "e", "s", "w"], nulls=True), ["n", "e", "s", "w", None]),
        "tag": (_entry("text"), ["a", "b", "c", "d", "", None]),
        "heat": (
            _entry("decimal", low="35.5", high="36.5", resolution="0.5"),
            ["35.5", "36", "40", *ANY_NUMBER],
        ),
    },
    "notes": {
        "pages": (_entry("integer", low=0, high=3), ["0", "3", "1", "-7", "50", *ANY_NUMBER]),
        "topic": (_entry("category", values=["x", "y"], nulls=True), ["x", "y", "q", None]),
    },
    "lines": {
        "words": (_entry("integer", low=-1, high=5), ["-1", "5", "2", "-7", "50", *ANY_NUMBER]),
        "style": (_entry("category", values=["u", "v"]), ["u", "v", None]),
    },
    "depts": {
        "id": (_entry("integer", low=0, high=3), ["0", "1", "2", "3", None]),
        "size": (_entry("integer", low=2, high=9), ["2", "9", "5", None]),
        "name": (_entry("category", values=["A", "B"]), ["A", "B", None]),
    },
}
IDENTIFIERS = {
    "visits": ("person", "id"),
    "stays": ("person", "visit"),
    "notes": ("id", "visit"),
    "lines": ("note",),
}
LINKS = {
    "people": {"dept": "depts.id"},
    "visits": {"dept": "depts.id"},
    "stays": {"visit": "visits.id"},
    "notes": {"visit": "visits.id"},
    "lines": {"note": "notes.id"},
}
PEOPLE = ("p", "q", "r", "s")
ANY_KEY = ["1", "2", "3", "p1", "q1", "gone", "", None]
OWN_KEY: list[str | None] = ["s1", "s2", "s3"]


def policy(folder: str) -> Policy:
    """The policy of these tables, read from `folder`."""
    terms: dict[str, dict[str, object]] = {
        "people": {"person": "row"},
        "visits": {"person": "person", "rows_per_person": 2},
        "stays": {"person": "person", "rows_per_person": 2, "groups_per_person": 2},
        "notes": {"person": {"through": "visit"}, "rows_per_person": 2},
        "lines": {"person": {"through": "note"}, "rows_per_person": 2},
        "depts": {"person": "none"},
    }
    tables = {
        name: {
            "source": f"{folder}/{name}.parquet",
            "columns": {**identifier(name), **{column: entry for column, (entry, _) in columns.items()}},
            "links": LINKS.get(name, {}),
            **terms[name],
        }
        for name, columns in COLUMNS.items()
    }
    return Policy.model_validate({"tables": tables})


def identifier(table: str) -> dict[str, dict[str, object]]:
    return {name: _entry("text", role="identifier") for name in IDENTIFIERS.get(table, ())}


def _row(choose: Choose, table: str, **keys: list[str | None]) -> Row:
    pools = {name: pool for name, (_, pool) in COLUMNS[table].items()} | keys
    return {name: choose(pool) for name, pool in pools.items()}


def _rows(choose: Choose, table: str, most: int, **keys: list[str | None]) -> tuple[Row, ...]:
    """Any number of rows; some of them are alike, if not in their keys."""
    found: list[Row] = []
    for _ in range(choose(range(most + 1))):
        row = _row(choose, table, **keys)
        if found and choose(range(4)) == 0:
            row = {**choose(found), **{key: choose((row[key], found[-1][key])) for key in keys}}
        found.append(row)
    return tuple(found)


@dataclass(frozen=True)
class Tables:
    """One state of the data: rows that are people, rows by person, rows that link, and the public table."""

    people: tuple[Row, ...]
    visits: ByPerson
    stays: ByPerson
    depts: tuple[Row, ...]
    notes: tuple[Row, ...] = ()
    lines: tuple[Row, ...] = ()

    def rows(self, table: str) -> list[Row]:
        found = getattr(self, table)
        if isinstance(found, tuple):
            return list(found)
        return [{"person": person, **each} for person, rows in found.items() for each in rows]

    def reversed(self) -> Tables:
        """The same data in another order."""
        visits, stays = (
            {person: rows[::-1] for person, rows in reversed(list(each.items()))}
            for each in (self.visits, self.stays)
        )
        others = self.depts[::-1], self.notes[::-1], self.lines[::-1]
        return Tables(self.people[::-1], visits, stays, *others)


def neighbours(choose: Choose, relation: Relation) -> tuple[Tables, Tables]:
    """Two states that differ in one person: in one row of people, and in one person's rows elsewhere.

    The rows of one stand in another order than the other's.
    """
    *others, last = PEOPLE
    every = ANY_KEY + OWN_KEY
    depts, people = _rows(choose, "depts", 5), _rows(choose, "people", 4)
    visits = {person: _rows(choose, "visits", 5, id=ANY_KEY) for person in others}
    stays = {person: _rows(choose, "stays", 7, visit=every) for person in others}
    notes, lines = _rows(choose, "notes", 7, id=ANY_KEY, visit=ANY_KEY), _rows(choose, "lines", 9, note=every)

    def somebody() -> Tables:
        return Tables(
            (_row(choose, "people"), *people),
            {last: _rows(choose, "visits", choose((1, 5)), id=every), **visits},
            {last: _rows(choose, "stays", choose((2, 9)), visit=every), **stays},
            depts,
            (*_rows(choose, "notes", 6, id=every, visit=OWN_KEY), *notes),
            (*_rows(choose, "lines", 6, note=OWN_KEY), *lines),
        )

    here, nobody = somebody(), Tables(people, visits, stays, depts, notes, lines)
    there = somebody() if relation is Relation.VALUE else nobody
    return here, there.reversed()


def extremes() -> list[tuple[Relation, tuple[Tables, Tables]]]:
    """Neighbours that are as far apart as bounds allow, in a crowd: one person has many rows at one end, or
    at the other end, or in other groups, or is not there, or has everybody's keys too.
    """
    crowd = [f"c{place}" for place in range(12)]
    plain: Row = {"wide": "0", "ratio": "0", "dept": "1", "text": "a", "day": "2020-01-01", "score": "1"}
    depts: tuple[Row, ...] = ({"id": "1", "size": "9", "name": "A"}, {"id": "1", "size": "2", "name": "B"})
    visits = {
        each: tuple({**plain, "cost": "-2", "kind": kind, "id": f"{each}{kind}"} for kind in "za")
        for each in crowd
    }
    notes: tuple[Row, ...] = tuple(
        {"pages": "1", "topic": "xy"[place % 2], "id": each, "visit": f"{each}z"}
        for place, each in enumerate(crowd)
    )
    lines: tuple[Row, ...] = tuple({"words": "1", "style": "u", "note": each} for each in crowd)
    stays = {
        each: tuple({"days": "2", "ward": ward, "tag": "a"} for ward in ("ne", "sw")[place % 2])
        for place, each in enumerate(crowd)
    }

    def state(
        age: str,
        cost: str,
        kind: str,
        days: str,
        wards: str,
        topic: str,
        keys: Sequence[str | None] = ("s1",),
    ) -> Tables:
        person: Row = {**plain, "age": age, "income": "2", "sex": "m", "flag": "true", "born": "2020-01-31"}
        visit: tuple[Row, ...] = tuple({**plain, "cost": cost, "kind": kind, "id": key} for key in keys) * 5
        stay: tuple[Row, ...] = tuple(
            {"days": days, "ward": ward, "tag": ward, "heat": "36", "visit": "s1"} for ward in wards
        )
        note: tuple[Row, ...] = tuple(
            {"pages": days, "topic": topic, "id": f"s{place}", "visit": "s1"} for place in range(5)
        )
        line: tuple[Row, ...] = tuple({"words": age, "style": "uv"[kind == "z"], "note": "s1"} for _ in "123")
        return Tables(
            (person,),
            {**visits, "s": visit},
            {**stays, "s": stay},
            depts,
            (*notes, *note),
            (*lines, *line),
        )

    here = state("6", "10", "z", "4", "nnneeesss", "x")
    all_keys = ["s1", *(visit["id"] for rows in visits.values() for visit in rows)]
    nobody = Tables((), visits, stays, depts, notes, lines)
    return [
        (Relation.VALUE, (here, state("0", "-3", "z", "1", "nnneeesss", "x").reversed())),
        (Relation.VALUE, (here, state("6", "10", "a", "4", "wwwwww", "y").reversed())),
        (Relation.PRESENCE, (here, nobody.reversed())),
        (Relation.VALUE, (here, state("6", "10", "z", "4", "nnneeesss", "x", all_keys).reversed())),
    ]
