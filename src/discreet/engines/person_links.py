"""Person links: the person of a row that names one through a link, and the keys that join a person's rows.

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

import duckdb

from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.engines import clamping
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
