"""Row ranking: one table of the prepared store as SQL, with encoded values and ranked rows per person.

Person      MD5(key, identifier, key'), the same in all tables: an envelope on both sides, as in HMAC. The
            arguments are DuckDB's sort keys, which are equal for equal values only, so that no value runs
            into the next. Someone who enters rows knows neither half of the key, so can neither find two
            people that collide nor recompute a person's hash: the attacks on MD5 need the state that the key
            hides. SHA-256 costs nearly twice as much and protects nothing more here. Rows without a person
            are left out.
Rank        1, 2, … over each person's rows, in the order of a hash of a key, the person and all stored
            values, then of the values themselves. It is a function of that person's rows and of the key
            alone: neither of the order of rows nor of anybody else's. Tied rows are equal in all stored
            values, so no query distinguishes them. People are distinguished by their identifiers as they are,
            so that an engine that ranks in every statement need not hash them for it.
Row hash    DuckDB's, applied twice. The first takes key and person as values, and combines values so that
            some orders never occur; the second mixes them, so that all orders are equally likely. Rows that
            collide are ordered by their values, which is not random but just as deterministic, and the
            promise needs no more. Ranking by MD5 takes half as long again, and would only prevent someone who
            writes a person's rows from writing two that collide.
In place    where nothing is written, the rows are also available hashed, with the identity as the person and
            the hash as the rank, so that a query for some of them sorts these alone; and unordered, with the
            person alone, for a query that uses all of them.
Keys        rows of one person that a link joins have the same hidden key; it counts as one
            of the stored values.

Person links: the person of a row that names one through a link, and the keys that join a person's rows.

Through     where a table finds its people through a link (prescriptions name a visit, visits a patient), a
            row belongs to the person who has the key that it names. Where several people have that key it
            belongs to each of them: as many copies, each ranked and bounded among that person's other rows.
            Where nobody has it, it is left out.
Reason      whatever one person's rows become, they take none from anybody. If a key of two people were
            nobody's, or the first one's, a person who is given the key of another's visit would make that
            other's prescriptions vanish or change hands. With copies, the rows of every other person are the
            same in neighbouring data, and those of this person are bounded by the policy. (A row that names
            the key of several people is about all of them: it changes with each of them, as a row about two
            people does in any table. So the policy declares that a key is one person's, and the custodian's
            log says how many keys are not.)
Keys        a link between two such tables joins rows of the same person only. Both ends have a hidden key,
            a hash of the person and the identifier, so that identifiers need not be stored. Within one
            person the end that is linked to has each key once, at its first row by rank: so a row that links
            to it matches at most one row, which that person's rows alone decide. Keys that collide, one in
            2**64, are keys of the same person.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import duckdb

from discreet.core.column_entry import Role
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.engines import clamping

if TYPE_CHECKING:
    from discreet.engines.sources import SourceRelation

KEY, LINK = "_discreet_key", "_discreet_link"
LOOKUP_KEY = "_discreet_named"


def write_hidden_identifiers(name: str, policy: Policy, reading: SourceRelation) -> dict[str, str]:
    """Return a table's hidden columns, each with the SQL of the identifier that it is the hash of."""
    links = {f"{LINK} {column}": column for column in policy.find_person_links(name)}
    keys = {f"{KEY} {column}": column for column in policy.find_person_keys(name)}
    return {
        hidden: write_identifier(name, column, policy, reading) for hidden, column in (links | keys).items()
    }


def write_identifier(name: str, column: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the SQL of an identifier as text, equal for equal keys whatever their type in the file."""
    return clamping.encode_person(policy.tables[name].columns[column], column, reading.types[column])


def write_link_hash(identifier: str, person: str) -> str:
    """Return the SQL of a hidden key, from an identifier and the person's hash, which is secret."""
    digest = f"md5_number_lower(create_sort_key({person}, 'ASC NULLS LAST', {identifier}, 'ASC NULLS LAST'))"
    return f"CASE WHEN {identifier} IS NOT NULL THEN {digest} END"


def keep_first_row_per_key(ranked: str, keys: Iterable[str], person: str, rank: str) -> str:
    """Return a SELECT of the ranked rows in which only a person's first row with a key has that key."""
    once = [
        f"CASE WHEN {rank} = min({rank}) OVER (PARTITION BY {person}, {key}) THEN {key} END AS {key}"
        for key in (quote_identifier(f"{KEY} {column}") for column in keys)
    ]
    return f"SELECT * REPLACE ({', '.join(once)}) FROM ({ranked})" if once else ranked


def name_owner_table(name: str, column: str) -> str:
    """Return the name of the table that lists the people of each key in a column."""
    return quote_identifier(f"_discreet_owners {name} {column}")


def count_shared_keys(connection: duckdb.DuckDBPyConnection, name: str, column: str) -> int:
    """Return how many keys belong to several people."""
    several = f"SELECT 1 FROM {name_owner_table(name, column)} GROUP BY {KEY} HAVING count(*) > 1"
    row = connection.execute(f"SELECT count(*) FROM ({several})").fetchone()
    assert row is not None
    return int(row[0])


def find_owner_lookup(name: str, policy: Policy, reading: SourceRelation) -> tuple[str, str]:
    """Return the owner table of a table's link, and the SQL of the identifier to look up in it."""
    table = policy.tables[name]
    assert table.person_link is not None
    link = table.links[table.person_link]
    return name_owner_table(link.table, link.column), write_identifier(
        name, table.person_link, policy, reading
    )


def list_lookup_columns(name: str, policy: Policy) -> tuple[str, ...]:
    """Return the columns of a table in which other tables look up their people."""
    links = [
        table.links[table.person_link] for table in policy.tables.values() if table.person_link is not None
    ]
    return tuple(dict.fromkeys(link.column for link in links if link.table == name))


def order_tables(policy: Policy) -> list[str]:
    """Return the tables, each after the one in which it looks up its people."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        owner = policy.find_person_table(name)
        if owner is not None:
            visit(owner)
        if name not in ordered:
            ordered.append(name)

    for name in policy.tables:
        visit(name)
    return ordered


PERSON, RANK, ROW = "_discreet_person", "_discreet_rank", "_discreet_row"
IDENTITY, HASH = "_discreet_identity", "_discreet_hash"
MAX_RANK = 2**31 - 1
KEYS = ("discreet_before", "discreet_after")


def write_create_table(name: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the CREATE TABLE; it reads the hash key from two variables of the connection (`KEYS`)."""
    return f"CREATE TABLE {quote_identifier(name)} AS {write_rows(name, policy, reading)}"


def write_rows(name: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the SELECT of the table's rows, as a store holds them or as they are read in place."""
    stored = _encode_stored_columns(name, policy, reading)
    if not policy.tables[name].has_person_key:
        return _write_unranked_rows(stored, reading)
    return _write_ranked_rows(stored, name, policy, reading)


def write_in_place_rows(name: str, policy: Policy, reading: SourceRelation) -> dict[str, str]:
    """Return the SELECTs of a person table's hashed and unordered rows, by the names that statements use.

    Equal hashes are ordered by the values.
    """
    stored = _encode_stored_columns(name, policy, reading)
    # the first values of a tuple are the fastest to read, so the sort columns come first
    shown = ", ".join([f"{IDENTITY} AS {PERSON}", f"{HASH} AS {RANK}", *map(quote_identifier, stored)])
    plain = ", ".join([f"{IDENTITY} AS {PERSON}", *map(quote_identifier, stored)])
    return {
        f"_discreet_hashed {name}": f"SELECT {shown} FROM "
        f"({_write_hashed_rows(stored, name, policy, reading)})",
        f"_discreet_unordered {name}": f"SELECT {plain} FROM "
        f"({_write_person_rows(stored, name, policy, reading)})",
    }


def _encode_stored_columns(name: str, policy: Policy, reading: SourceRelation) -> dict[str, str]:
    return {
        column: clamping.encode_column(entry, column, reading.types[column])
        for column, entry in policy.tables[name].columns.items()
        if entry.role is not Role.IDENTIFIER
    }


def write_create_owner_table(name: str, column: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the CREATE TABLE of the owner table: the people of each key, to look up another table's."""
    return (
        f"CREATE TEMP TABLE {name_owner_table(name, column)} AS "
        f"{write_owner_rows(name, column, policy, reading)}"
    )


def write_owner_rows(name: str, column: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the SELECT of the owner table's rows: distinct pairs of key and person."""
    key = {KEY: write_identifier(name, column, policy, reading)}
    found = _write_person_rows(key, name, policy, reading)
    return f"SELECT DISTINCT {KEY}, {PERSON} FROM ({found}) WHERE {KEY} IS NOT NULL"


def _write_unranked_rows(stored: dict[str, str], reading: SourceRelation) -> str:
    values = _write_aliases(stored) or [f"true AS {ROW}"]  # rows without columns still count
    return f"SELECT {', '.join(values)} FROM {reading.relation}"


def _write_ranked_rows(stored: dict[str, str], name: str, policy: Policy, reading: SourceRelation) -> str:
    values = [
        quote_identifier(column) for column in (*stored, *write_hidden_identifiers(name, policy, reading))
    ]
    place = f"row_number() OVER (PARTITION BY {IDENTITY} ORDER BY {', '.join([HASH, *values])})"
    if not policy.is_read_only:
        place = f"least({place}, {MAX_RANK})::INTEGER"
    found = _write_hashed_rows(stored, name, policy, reading)
    ranked = f"SELECT {', '.join([*values, PERSON, f'{place} AS {RANK}'])} FROM ({found})"
    once = keep_first_row_per_key(ranked, policy.find_person_keys(name), PERSON, RANK)
    if policy.is_read_only:
        return once
    # only the first rows of a person, so that the time of a statement is bounded per person
    return f"SELECT * FROM ({once}) WHERE {RANK} <= {policy.tables[name].max_rows_read}"


def _write_hashed_rows(stored: dict[str, str], name: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the SELECT of rows whose person is known, with a hash of each row."""
    texts = write_hidden_identifiers(name, policy, reading)
    names = [quote_identifier(column) for column in stored]
    keys = [f"{write_link_hash(quote_identifier(key), PERSON)} AS {quote_identifier(key)}" for key in texts]
    values = [*names, *map(quote_identifier, texts)]
    found = _write_person_rows(stored | texts, name, policy, reading)
    if keys:
        found = f"SELECT {', '.join([*names, *keys, PERSON, IDENTITY])} FROM ({found})"
    hashed = f"hash(hash({', '.join([_write_key_variable(0), IDENTITY, *values])}))"
    return f"SELECT {', '.join([IDENTITY, f'{hashed} AS {HASH}', *values, PERSON])} FROM ({found})"


def _write_person_rows(values: dict[str, str], name: str, policy: Policy, reading: SourceRelation) -> str:
    """Return the SELECT of rows whose person is known, with the person's hash and identity."""
    table = policy.tables[name]
    names = [quote_identifier(column) for column in values]
    if table.person_link is not None:
        listed, text = find_owner_lookup(name, policy, reading)
        encoded = ", ".join([*_write_aliases(values), f"{text} AS {LOOKUP_KEY}"])
        return (
            f"SELECT {', '.join([*(f'r.{each}' for each in names), PERSON, f'{PERSON} AS {IDENTITY}'])} "
            f"FROM (SELECT {encoded} FROM {reading.relation}) AS r "
            f"JOIN {listed} AS o ON r.{LOOKUP_KEY} = o.{KEY}"
        )
    assert table.person_column is not None
    column = table.person_column
    of = (table.columns[column], column, reading.types[column])
    encoded = ", ".join(
        [
            *_write_aliases(values),
            f"{clamping.encode_person(*of)} AS {PERSON}",
            f"{clamping.encode_identity(*of)} AS {IDENTITY}",
        ]
    )
    # Drop one bit of MD5, so that it fits a signed integer.
    hashed = f"({_write_digest(_write_key_variable(0), PERSON, _write_key_variable(1))} >> 1)::HUGEINT"
    return (
        f"SELECT {', '.join([*names, f'{hashed} AS {PERSON}', IDENTITY])} FROM ("
        f"SELECT {encoded} FROM {reading.relation}) WHERE {IDENTITY} IS NOT NULL"
    )


def _write_key_variable(half: int) -> str:
    return f"getvariable('{KEYS[half]}')"


def _write_aliases(stored: dict[str, str]) -> list[str]:
    return [f"{value} AS {quote_identifier(column)}" for column, value in stored.items()]


def _write_digest(*values: str) -> str:
    key = ", ".join(f"{value}, 'ASC NULLS LAST'" for value in values)
    return f"md5_number(create_sort_key({key}))"
