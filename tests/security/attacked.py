"""A database in which the hostile role `mallory` may create objects, and what these objects have done.

Mallory may create what it likes in `public` and a schema of any name. What mallory's functions do is seen in
tables of mallory's, which everybody may fill.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
import pytest

from discreet.belief import Promise
from discreet.core.policy import Policy
from tests.engines.servers import PostgresServer

PROMISE = Promise(0.01, 0.05)
ROLES = ("mallory", "reader", "keeper")
# Operators and functions that drivers, SQLAlchemy and we call before and after a session is set up.
SHADOWS = {
    "<>": ("regproc, integer", "boolean", "true"),
    "!~": ("name, unknown", "boolean", "true"),
    "=": ("name, text", "boolean", "true"),
    "||": ("text, integer", "text", "''::text"),
}
CALLS = {
    "pg_advisory_xact_lock": ("integer", "void", ""),
    "pg_advisory_lock_shared": ("bigint", "void", ""),
    "set_config": ("unknown, unknown, boolean", "text", "''"),
    "current_schema": ("", "name", "'public'"),
    "to_regclass": ("unknown", "regclass", "NULL"),
    "has_schema_privilege": ("oid, unknown", "boolean", "true"),
    "format_type": ("oid, unknown", "text", "'text'"),
    "count": ("integer", "bigint", "0"),
    "hashint8extended": ("bigint, integer", "bigint", "0"),
    "length": ("name", "integer", "1"),
    "version": ("", "text", "'PostgreSQL 15.1'"),
    "to_regtype": ("unknown", "regtype", "NULL"),
}


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """One database in which mallory may create objects."""

    url: str

    def address(self, role: str, schema: str = "") -> str:
        chosen = f"?options=-csearch_path%3D{schema}" if schema else ""
        return self.url.replace("discreet@", f"{role}@") + chosen

    def run(self, role: str, *statements: str) -> list[tuple[Any, ...]]:
        with closing(psycopg.connect(self.address(role))) as connection:
            for statement in statements:
                found = connection.execute(statement.encode())
            rows = found.fetchall() if found.description else []
            connection.commit()
        return rows

    def run_alone(self, *statements: str) -> None:
        """Run statements that take no transaction, as the cluster's owner."""
        _alone(self.url, *statements)

    def set_traps(self, schema: str) -> None:
        """Shadow, as mallory, what drivers and we call; each shadow says who has run it, and of what."""
        self.run("mallory", *list_traps(schema))

    @property
    def caught(self) -> list[tuple[Any, ...]]:
        """Which shadows were run by others than mallory."""
        return self.run("mallory", "SELECT DISTINCT role, trap FROM loot.caught WHERE role <> 'mallory'")


def list_traps(schema: str) -> Iterator[str]:
    for number, (operator, (arguments, result, value)) in enumerate(SHADOWS.items()):
        yield _trap(schema, f"trap_{number}", arguments, result, value, operator)
        left, right = (each.replace("unknown", "text") for each in arguments.split(", "))
        yield (
            f"CREATE OPERATOR {schema}.{operator} "
            f"(LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = {schema}.trap_{number})"
        )
    for name, (arguments, result, value) in CALLS.items():
        yield _trap(schema, name, arguments, result, value, name)


def _trap(schema: str, name: str, arguments: str, result: str, value: str, trap: str) -> str:
    body = "RETURN;" if result == "void" else f"RETURN {value};"
    return (
        f"CREATE FUNCTION {schema}.{name}({arguments.replace('unknown', 'text')}) RETURNS {result} "
        "LANGUAGE plpgsql AS $$ BEGIN "
        f"INSERT INTO loot.caught VALUES (current_user, '{trap}'); {body} END $$"
    )


@pytest.fixture
def attacked(postgres: PostgresServer) -> Iterator[Attacked]:
    name = f"attacked{next(NUMBERS)}"
    _alone(postgres.url, f"CREATE DATABASE {name}", *(f"CREATE ROLE {each} LOGIN" for each in ROLES))
    found = Attacked(url=postgres.url.rpartition("/")[0] + f"/{name}")
    try:
        found.run(
            "discreet",
            f"GRANT CREATE ON DATABASE {name} TO mallory",
            "GRANT CREATE ON SCHEMA public TO mallory",
            "CREATE TABLE public.visits (patient bigint, age bigint)",
            "INSERT INTO public.visits SELECT g / 2, g FROM generate_series(1, 20) AS g",
            "GRANT SELECT ON public.visits TO reader",
            "CREATE SCHEMA prepared AUTHORIZATION reader",
            "CREATE SCHEMA promises AUTHORIZATION keeper",
        )
        found.run(
            "mallory",
            "CREATE SCHEMA loot",
            "GRANT USAGE ON SCHEMA loot TO PUBLIC",
            "CREATE TABLE loot.caught (role name, trap text)",
            "GRANT INSERT ON loot.caught TO PUBLIC",
        )
        yield found
    finally:
        _alone(
            postgres.url,
            f"DROP DATABASE {name} WITH (FORCE)",
            *(f"DROP ROLE {each}" for each in ROLES),
        )


NUMBERS = count()


def _alone(url: str, *statements: str) -> None:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def policy_of(store: str | None = None) -> Policy:
    return Policy.model_validate(
        {
            "tables": {
                "visits": {
                    "source": "visits",
                    "person": "patient",
                    "rows_per_person": 2,
                    "columns": {
                        "patient": {"type": "integer", "role": "identifier"},
                        "age": {"type": "integer", "low": 0, "high": 120},
                    },
                }
            },
            **({"store": store} if store else {}),
        }
    )


def sources_of(source: str, store: str | None = None) -> Policy:
    policy = policy_of(store)
    tables = {name: table.model_copy(update={"source": source}) for name, table in policy.tables.items()}
    return policy.model_copy(update={"tables": tables})
