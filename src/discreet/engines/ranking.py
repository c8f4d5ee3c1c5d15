"""One table of the prepared store as SQL: values encoded, persons hashed, each person's rows ranked.

Person      MD5(key, identifier, key'), the same in all tables: an envelope on both sides, as in HMAC. Inside
            stand DuckDB's sort keys, which are equal for equal values only, so that nothing runs into the
            next. Who fills rows in knows neither key, so can neither find two people that collide nor say
            who is who: the attacks on MD5 need the state that the key hides. SHA-256 costs nearly twice as
            much and protects nothing more here. Rows without a person are left out.
Rank        1, 2, … over each person's rows, in the order of a hash of the person and of all stored values,
            then of the values themselves. It is a function of that person's rows and of the key alone: not
            of the rows' order, nor of anybody else's. Rows that tie are alike in all that is stored, so no
            question tells them apart.
Row's hash  DuckDB's, twice. The first takes the person as one more value, and combines values so that some
            orders never come; the second mixes them, so that every order is as likely. Rows that collide in
            it stand in the order of their values, which is not random but as fixed, and the promise needs
            no more. Ranking by MD5 takes half as long again, and would only keep those who write a person's
            rows from writing two that collide.
"""

from __future__ import annotations

from discreet.core.policy import Role, Table
from discreet.engines import encoding
from discreet.engines.connection import quoted
from discreet.engines.sources import Reading

PERSON, RANK, ROW = "_discreet_person", "_discreet_rank", "_discreet_row"
KEYS = ("discreet_before", "discreet_after")


def create(name: str, table: Table, reading: Reading) -> str:
    """The statement that makes the table; the two halves of the key are variables of the connection."""
    stored = {
        column: encoding.encoded(entry, column, reading.types[column])
        for column, entry in table.columns.items()
        if entry.role is not Role.IDENTIFIER
    }
    unnamed = table.person in ("row", "none")
    rows = _each_row(stored, reading) if unnamed else _each_person(stored, table, reading)
    return f"CREATE TABLE {quoted(name)} AS {rows}"


def _each_row(stored: dict[str, str], reading: Reading) -> str:
    values = _aliased(stored) or [f"true AS {ROW}"]  # rows without columns still count
    return f"SELECT {', '.join(values)} FROM {reading.relation}"


def _each_person(stored: dict[str, str], table: Table, reading: Reading) -> str:
    identifier = encoding.person(table.columns[table.person], table.person, reading.types[table.person])
    before, after = (f"getvariable('{key}')" for key in KEYS)
    names = [quoted(column) for column in stored]
    encoded = ", ".join([*_aliased(stored), f"{identifier} AS {PERSON}"])
    # One bit less than MD5 has, so that it fits a signed integer.
    hashed = f"({_digest(before, PERSON, after)} >> 1)::HUGEINT"
    order = ", ".join([f"hash(hash({', '.join([PERSON, *names])}))", *names])
    place = f"row_number() OVER (PARTITION BY {PERSON} ORDER BY {order})"
    return (
        f"SELECT *, least({place}, {2**31 - 1})::INTEGER AS {RANK} FROM ("
        f"SELECT {', '.join([*names, f'{hashed} AS {PERSON}'])} FROM ("
        f"SELECT {encoded} FROM {reading.relation}) WHERE {PERSON} IS NOT NULL)"
    )


def _aliased(stored: dict[str, str]) -> list[str]:
    return [f"{value} AS {quoted(column)}" for column, value in stored.items()]


def _digest(*values: str) -> str:
    key = ", ".join(f"{value}, 'ASC NULLS LAST'" for value in values)
    return f"md5_number(create_sort_key({key}))"
