"""Person profiles: how the people and links of a table fit the policy, counted inside the engine.

People      how many there are, how many have more rows than `rows_per_person`, and how many rows are left out
            for that. Of a number with bounds, what the sum and the count of its values become once rows are
            left out: of a person with n rows, any r are kept with the same probability, so r/n of the sum
            is kept on average.
Links       rows whose key is that of no row in the other table.

The SQL is DuckDB's, which other engines get translated; its results are for the custodian alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.engines import clamping

TableTypes = Mapping[str, Mapping[str, str]]
"""The DuckDB type of each column as it is read, by table."""
PERSON, KEY, COUNT_SCALE = "_discreet_person", "_discreet_key", 1_000
"""Expected counts are fractions, so they are summed in thousandths."""


def write_people_counts(policy: Policy, name: str, types: TableTypes) -> str:
    """Return the SELECT of a table's people, those over its bound, the rows left out and the most rows."""
    most = policy.tables[name].rows_per_person
    people = (
        f"SELECT {PERSON}, count(*) AS n FROM ({_write_person_rows(policy, name, types, {})}) "
        f"WHERE {PERSON} IS NOT NULL GROUP BY {PERSON}"
    )
    return (
        f"SELECT count(*) AS people, sum(n) AS rows, count_if(n > {most}) AS over, "
        f"sum(greatest(n - {most}, 0)) AS left_out, max(n) AS most FROM ({people})"
    )


def write_bounded_sums(policy: Policy, name: str, types: TableTypes) -> str | None:
    """Return the SELECT of what is kept of each bounded number's sum and count; None without such numbers.

    Outputs are s0, c0, s1, c1, … in the order of `list_bounded_numbers`; counts in thousandths.
    """
    table = policy.tables[name]
    numbers = list_bounded_numbers(policy, name)
    if not numbers:
        return None
    values = {
        f"v{place}": clamping.encode_column(table.columns[column], column, types[name][column])
        for place, column in enumerate(numbers)
    }
    inner = ", ".join(f"sum({value}) AS s{value[1:]}, count({value}) AS c{value[1:]}" for value in values)
    people = (
        f"SELECT {PERSON}, count(*) AS n, {inner} "
        f"FROM ({_write_person_rows(policy, name, types, values)}) "
        f"WHERE {PERSON} IS NOT NULL GROUP BY {PERSON}"
    )
    kept = f"least(n, {table.rows_per_person}) / n"
    outputs = ", ".join(
        f"sum(CAST(round(CAST(s{place} AS DOUBLE) * {kept}) AS BIGINT)) AS s{place}, "
        f"sum(CAST(round(c{place} * {COUNT_SCALE} * {kept}) AS BIGINT)) AS c{place}"
        for place in range(len(numbers))
    )
    return f"SELECT {outputs} FROM ({people})"


def list_bounded_numbers(policy: Policy, name: str) -> list[str]:
    """Return the columns of a table whose values are summed within bounds."""
    return [column for column, entry in policy.tables[name].columns.items() if entry.grid_bounds is not None]


def write_link_counts(policy: Policy, name: str, column: str, types: TableTypes) -> str:
    """Return the SELECT of the rows that have a key in a linked column, and of those that find no row."""
    link = policy.tables[name].links[column]
    own = _write_identifier(policy, name, column, types)
    other = _write_identifier(policy, link.table, link.column, types)
    return (
        f"SELECT count(*) AS keyed, count_if(o.{KEY} IS NULL) AS unmatched "
        f"FROM (SELECT {own} AS {KEY} FROM {quote_identifier(name)}) AS r "
        f"LEFT JOIN (SELECT DISTINCT {other} AS {KEY} FROM {quote_identifier(link.table)}) AS o "
        f"ON r.{KEY} = o.{KEY} WHERE r.{KEY} IS NOT NULL"
    )


def _write_person_rows(policy: Policy, name: str, types: TableTypes, values: Mapping[str, str]) -> str:
    """Return the SELECT of some values of each row, and of its person, who may be found through a link."""
    table = policy.tables[name]
    listed = [f"{sql} AS {alias}" for alias, sql in values.items()]
    if table.person_column is not None:
        person = _write_identifier(policy, name, table.person_column, types)
        return f"SELECT {', '.join([*listed, f'{person} AS {PERSON}'])} FROM {quote_identifier(name)}"
    assert table.person_link is not None
    link = table.links[table.person_link]
    own = _write_identifier(policy, name, table.person_link, types)
    other = {KEY: _write_identifier(policy, link.table, link.column, types)}
    owners = _write_person_rows(policy, link.table, types, other)
    return (
        f"SELECT {', '.join([*(f'r.{alias}' for alias in values), f'o.{PERSON}'])} "
        f"FROM (SELECT {', '.join([*listed, f'{own} AS {KEY}'])} FROM {quote_identifier(name)}) AS r "
        f"JOIN (SELECT DISTINCT {KEY}, {PERSON} FROM ({owners})) AS o ON r.{KEY} = o.{KEY}"
    )


def _write_identifier(policy: Policy, name: str, column: str, types: TableTypes) -> str:
    return clamping.encode_person(policy.tables[name].columns[column], column, types[name][column])
