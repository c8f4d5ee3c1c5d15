"""No code of another database user runs in our sessions, and no setting of theirs changes what we read.

The planner computes expressions of indexes, statistics and partition keys in advance, in the session of
whoever reads the table; a type's owner says how it is cast to text; default privileges say who may read a
table that is new. Mallory's functions take a lock of the session, which everybody sees: it stays where a
transaction may not write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.ledger_database import get_shared_store_key
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.guarantees import PureDP
from discreet.core.policy import Policy
from discreet.engines.postgres import PostgreSQL
from discreet.engines.postgres_publisher import PostgreSQLPublisher
from discreet.services.users.user_storage import UserDatabase
from tests.engines.servers import KEY
from tests.security.attacked import PROMISE, Attacked, policy_of, sources_of

pytestmark = pytest.mark.xdist_group("postgres")

LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"
SPIES = (
    # a function that may not write can call one that may
    "CREATE FUNCTION loot.acting() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM pg_catalog.pg_advisory_lock_shared(4711); RETURN true; END $$",
    "CREATE FUNCTION loot.spy(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN "
    "PERFORM loot.acting(); RETURN 1; END $$",
)
TABLE = "CREATE TABLE loot.visits AS SELECT g AS patient, g AS age FROM generate_series(1, 5) AS g"
PARTITIONED = (
    "CREATE TABLE loot.visits (patient bigint, age bigint) PARTITION BY RANGE ((age + loot.spy(1)))",
    "CREATE TABLE loot.part PARTITION OF loot.visits DEFAULT",
    "INSERT INTO loot.visits SELECT g, g FROM generate_series(1, 5) AS g",
)
SHOWN = "GRANT SELECT ON ALL TABLES IN SCHEMA loot TO PUBLIC"


COMPUTED = {
    "index": (TABLE, "CREATE INDEX ON loot.visits ((age + loot.spy(1)))"),
    "predicate": (TABLE, "CREATE INDEX ON loot.visits (age) WHERE loot.spy(1) = 1"),
    "statistics": (TABLE, "CREATE STATISTICS loot.joint ON (age + loot.spy(1)) FROM loot.visits"),
    "partition": PARTITIONED,
    "child": (
        TABLE,
        "CREATE TABLE loot.child () INHERITS (loot.visits)",
        "CREATE INDEX ON loot.child ((loot.spy(1)))",
    ),
    "operator": (
        TABLE,
        "CREATE OPERATOR loot.<-> (RIGHTARG = bigint, FUNCTION = loot.spy)",
        "CREATE INDEX ON loot.visits ((OPERATOR(loot.<->) CAST(1 AS bigint)))",
    ),
}
NIGHT = ("predicate", "child", "operator")


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(statements, id=name, marks=(pytest.mark.night,) if name in NIGHT else ())
        for name, statements in COMPUTED.items()
    ],
)
def test_functions_of_others_in_what_a_planner_computes_are_refused(
    attacked: Attacked, statements: tuple[str, ...]
) -> None:
    attacked.run("mallory", *SPIES, *statements, SHOWN)
    address = attacked.address("reader")
    opened: list[Callable[[], object]] = [
        lambda: PostgreSQL.open(sources_of("loot.visits"), address, KEY),
        lambda: PostgreSQL.open(sources_of("loot.visits", "prepared"), address, KEY),
        lambda: PostgreSQLPublisher(address, dict(sources_of("loot.visits").tables)),
    ]
    for each in opened:
        with pytest.raises(RequestError, match=r"of which (spy|<->) is a part.* of the role mallory"):
            each()
    assert attacked.run("mallory", LOCKS) == [(0,)]


def test_functions_of_others_in_a_view_of_the_databases_owner_are_refused(attacked: Attacked) -> None:
    attacked.run("mallory", *SPIES, "CREATE DOMAIN loot.number AS bigint CHECK (loot.spy(VALUE) = 1)")
    for expression, part in (("loot.spy(age)", "spy"), ("CAST(age AS loot.number)", "number")):
        attacked.run(
            "discreet",
            f"CREATE VIEW public.shown AS SELECT patient, {expression} AS age FROM public.visits",
            "GRANT SELECT ON public.shown TO reader",
        )
        with pytest.raises(RequestError, match=f"of which {part} is a part"):
            PostgreSQL.open(sources_of("shown"), attacked.address("reader"), KEY)
        attacked.run("discreet", "DROP VIEW public.shown")


def test_functions_of_the_databases_owner_and_of_our_role_are_called(attacked: Attacked) -> None:
    attacked.run(
        "discreet",
        "CREATE FUNCTION public.doubled(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 2 * $1",
        "CREATE INDEX ON public.visits (public.doubled(age))",
        "CREATE VIEW public.shown AS SELECT patient, public.doubled(age) AS age FROM public.visits",
        "GRANT SELECT ON public.shown TO reader",
    )
    with PostgreSQL.open(sources_of("shown"), attacked.address("reader"), KEY) as engine:
        assert engine.count('SELECT count(*) AS n FROM "visits"').secret.to_pylist() == [{"n": 20}]


def test_check_constraints_of_others_are_not_computed(attacked: Attacked) -> None:
    attacked.run(
        "mallory",
        *SPIES,
        TABLE,
        "ALTER TABLE loot.visits ADD CHECK (age > loot.spy(1) - 1)",
        "CREATE TABLE loot.child (CHECK (age < loot.spy(1))) INHERITS (loot.visits)",
        SHOWN,
    )
    attacked.run("reader", "ALTER ROLE reader SET constraint_exclusion = on")
    with PostgreSQL.open(sources_of("loot.visits"), attacked.address("reader"), KEY) as engine:
        found = engine.count('SELECT count(*) AS n FROM "visits" WHERE "age" > 2').secret.to_pylist()
        assert found == [{"n": 3}]
        assert attacked.run("mallory", LOCKS) == [(0,)]


# -- Casts --------------------------------------------------------------------------------------------------

CASTS = (
    "CREATE TYPE loot.mood AS ENUM ('sad', 'so so', '')",
    "CREATE TYPE loot.pair AS (one text, other loot.mood)",
    *(
        statement
        for name, kind in (("mood", "loot.mood"), ("moods", "loot.mood[]"), ("pair", "loot.pair"))
        for statement in (
            f"CREATE FUNCTION loot.show_{name}({kind}) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM loot.acting(); RETURN 'shown'; END $$",
            f"CREATE CAST ({kind} AS text) WITH FUNCTION loot.show_{name}({kind}) AS IMPLICIT",
        )
    ),
    "CREATE TABLE loot.visits (patient loot.mood, pair loot.pair, moods loot.mood[])",
    "INSERT INTO loot.visits VALUES ('sad', ('a', 'sad'), '{sad,\"so so\"}'), ('so so', (NULL, NULL), '{}'), "
    "('', NULL, NULL), (NULL, NULL, NULL)",
)


def test_a_cast_that_a_types_owner_has_created_is_not_called(attacked: Attacked) -> None:
    attacked.run("mallory", *SPIES, *CASTS, SHOWN)
    columns = {name: {"type": "text"} for name in ("pair", "moods")}
    table = {
        "source": "loot.visits",
        "person": "patient",
        "columns": {"patient": {"type": "text", "role": "identifier"}, **columns},
    }
    address = attacked.address("reader")
    for store in ({}, {"store": "prepared"}):
        policy = Policy.model_validate({"tables": {"visits": table}, **store})
        with PostgreSQL.open(policy, address, KEY) as engine:
            rows = engine.count('SELECT "pair", "moods" FROM "visits"').secret.to_pylist()
        assert sorted(map(str, (tuple(row.values()) for row in rows))) == [
            "('(,)', '{}')",
            "('(a,sad)', '{sad,\"so so\"}')",
        ]
    with PostgreSQLPublisher(address, dict(policy.tables), lists=["moods"]) as publisher:
        rows = publisher.count('SELECT "patient", "moods" FROM "visits"').secret.to_pylist()
        assert {row["patient"]: row["moods"] for row in rows} == {
            "sad": ["sad", "so so"],
            "so so": [],
            None: None,  # and the empty text, which names nobody, as in questions
        }
        assert attacked.run("mallory", LOCKS) == [(0,)]


# -- Settings and default privileges ------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["LATIN1", pytest.param("SQL_ASCII", marks=pytest.mark.night)])
def test_the_encoding_of_a_role_makes_no_text_a_fault(
    attacked: Attacked, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacked.run(
        "discreet",
        "CREATE TABLE public.words (patient bigint, word text)",
        "INSERT INTO public.words VALUES (1, 'Ж')",
        "GRANT SELECT ON public.words TO reader",
        *(f"ALTER ROLE {role} SET client_encoding = '{encoding}'" for role in ("reader", "keeper")),
    )
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    columns = {"patient": {"type": "integer", "role": "identifier"}, "word": {"type": "text"}}
    table = {"source": "words", "person": "patient", "columns": columns}
    policy = Policy.model_validate({"tables": {"words": table}})
    with PostgreSQL.open(policy, attacked.address("reader"), KEY) as engine:
        assert engine.count('SELECT "word" FROM "words"').secret.to_pylist() == [{"word": "Ж"}]
    with Ledger(attacked.address("keeper", "promises"), PROMISE) as ledger:
        entry = ledger.reserve(SOLE_ANALYST, "key", "SELECT 'Ж'", PureDP(epsilon=0.5))
        ledger.settle(entry, b"5")
        assert [each.question for each in ledger.list_entries()] == ["SELECT 'Ж'"]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_refused(attacked: Attacked, encoding: str) -> None:
    """There a question with UPPER, or one row with bytes that are no text, would be a fault."""
    name = f"encoded_{encoding.lower()}"
    attacked.run_alone(
        f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    address = attacked.address("reader").rpartition("/")[0] + f"/{name}"
    with pytest.raises(RequestError, match=f"encoding of its database is {encoding}"):
        PostgreSQL.open(policy_of(), address, KEY)
    attacked.run_alone(f"DROP DATABASE {name}")


@pytest.mark.parametrize("level", ["repeatable read", pytest.param("serializable", marks=pytest.mark.night)])
def test_the_isolation_of_a_role_makes_no_charge_fail(attacked: Attacked, level: str) -> None:
    attacked.run("keeper", f"ALTER ROLE keeper SET default_transaction_isolation = '{level}'")
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE) as one, Ledger(place, PROMISE) as other:

        def reserve(number: int) -> str:
            ledger = (one, other)[number % 2]
            try:
                ledger.reserve(SOLE_ANALYST, f"key {number}", "SELECT 1", PureDP(epsilon=0.001))
            except DiscreetError as error:
                return str(error)
            return ""

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(reserve, range(40))) == {""}
        assert len(one.list_entries()) == 40


def test_default_privileges_show_nobody_a_prepared_table_or_a_key(attacked: Attacked) -> None:
    attacked.run(
        "discreet",
        'CREATE ROLE "odd ""role"',
        *(
            f"ALTER DEFAULT PRIVILEGES FOR ROLE {role} GRANT ALL ON TABLES TO {others}"
            for role in ("reader", "keeper")
            for others in ("PUBLIC", "mallory WITH GRANT OPTION", '"odd ""role"')
        ),
        "GRANT USAGE ON SCHEMA prepared, promises TO PUBLIC",
    )
    PostgreSQL.open(policy_of("prepared"), attacked.address("reader"), KEY).close()
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE), UserDatabase(place):
        assert len(get_shared_store_key(place)) == 32
    tables = attacked.run(
        "discreet",
        "SELECT CAST(oid AS regclass)::text FROM pg_class WHERE relkind = 'r' "
        "AND relnamespace IN (CAST('prepared' AS regnamespace), CAST('promises' AS regnamespace))",
    )
    assert {"promises.store_key", "promises.secret", "promises.link"} < {name for (name,) in tables}
    for (name,) in tables:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            attacked.run("mallory", f"SELECT * FROM {name}")
    attacked.run("discreet", 'DROP OWNED BY "odd ""role"', 'DROP ROLE "odd ""role"')


@pytest.mark.parametrize(
    ("grant", "table"),
    [
        pytest.param("GRANT SELECT ON promises.store_key TO reader", "store_key", marks=pytest.mark.night),
        ("GRANT SELECT (key) ON promises.store_key TO reader", "store_key"),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA promises TO reader", "secret|store_key"),
    ],
)
def test_keys_that_others_may_read_are_refused(attacked: Attacked, grant: str, table: str) -> None:
    place = attacked.address("keeper", "promises")
    with UserDatabase(place):
        get_shared_store_key(place)
    attacked.run("keeper", grant)
    with pytest.raises(RequestError, match=f"others may read or write its table ({table})"):
        get_shared_store_key(place)


BY_GROUP = ("CREATE ROLE team", "GRANT pg_read_all_data TO team", "GRANT team TO mallory")
SET_ROLE = ("ALTER ROLE mallory NOINHERIT", "GRANT keeper TO mallory")


@pytest.mark.parametrize(
    ("grants", "is_shown", "what", "revoke"),
    [
        (["GRANT pg_read_all_data TO mallory"], True, "mallory may, as", "pg_read_all_data FROM mallory"),
        (["GRANT pg_write_all_data TO mallory"], False, "mallory may, as", "pg_write_all_data FROM mallory"),
        (BY_GROUP, True, "mallory may, as a member of team", "REVOKE team FROM mallory"),
        (["ALTER ROLE mallory NOINHERIT", *BY_GROUP], True, "mallory may, as", "REVOKE team FROM mallory"),
        (["GRANT keeper TO mallory"], False, "mallory may, as a member of keeper", "keeper FROM mallory"),
        (SET_ROLE, False, "mallory may, as a member of keeper", "keeper FROM mallory"),
    ],
)
def test_rights_that_stand_in_no_grant_of_a_table_are_found(
    attacked: Attacked, grants: Sequence[str], is_shown: bool, what: str, revoke: str
) -> None:
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE), UserDatabase(place):
        get_shared_store_key(place)
    with found_group(attacked):
        attacked.run("discreet", *grants)
        for open_keys in (UserDatabase, get_shared_store_key):
            with pytest.raises(RequestError, match=what) as refused:
                open_keys(place)
            assert revoke in refused.value.hint
        if is_shown:  # which holds no key, and may be shown to others
            Ledger(place, PROMISE).close()
        else:
            with pytest.raises(RequestError, match=what):
                Ledger(place, PROMISE)
        trusted = f"{place}&trusted_roles=mallory,team"
        with Ledger(trusted, PROMISE), UserDatabase(trusted):
            get_shared_store_key(trusted)


@contextmanager
def found_group(attacked: Attacked) -> Iterator[None]:
    """Whatever is done to the role `team`, which is of the whole cluster, it is gone afterwards."""
    try:
        yield
    finally:
        attacked.run("discreet", "DROP ROLE IF EXISTS team")


@pytest.mark.parametrize("right", ["pg_read_all_data", "pg_write_all_data"])
def test_a_key_is_not_drawn_where_others_could_read_it(attacked: Attacked, right: str) -> None:
    attacked.run("discreet", f"GRANT {right} TO mallory")
    place = attacked.address("keeper", "promises")
    for open_keys in (UserDatabase, get_shared_store_key):
        with pytest.raises(RequestError, match=f"as a member of {right}"):
            open_keys(place)
    assert attacked.run("discreet", "SELECT 1 FROM pg_tables WHERE schemaname = 'promises'") == []


def test_whoever_may_become_a_superuser_or_may_only_grant_our_role_is_no_other(attacked: Attacked) -> None:
    attacked.run("discreet", "GRANT discreet TO mallory")
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE), UserDatabase(place):
        get_shared_store_key(place)
    attacked.run("discreet", "REVOKE discreet FROM mallory")
    if attacked.run("discreet", "SELECT current_setting('server_version_num')::int >= 160000") == [(True,)]:
        attacked.run("discreet", "GRANT keeper TO mallory WITH ADMIN TRUE, INHERIT FALSE, SET FALSE")
        UserDatabase(place).close()


def test_a_prepared_table_that_was_granted_to_others_is_refused(attacked: Attacked) -> None:
    address, policy = attacked.address("reader"), policy_of("prepared")
    PostgreSQL.open(policy, address, KEY).close()
    ((name,),) = attacked.run("discreet", "SELECT tablename FROM pg_tables WHERE schemaname = 'prepared'")
    for grant, others in (
        ("SELECT", "mallory"),
        ("SELECT (age)", "mallory"),
        ("INSERT", "PUBLIC"),
    ):
        attacked.run("reader", f'GRANT {grant} ON prepared."{name}" TO {others}')
        with pytest.raises(RequestError, match=f"prepared copy of table visits.*{others}") as refused:
            PostgreSQL.open(policy, address, KEY)
        assert "REVOKE" in refused.value.hint
        attacked.run("reader", f'REVOKE {grant} ON prepared."{name}" FROM {others}')
    PostgreSQL.open(policy, address, KEY).close()


def test_a_prepared_table_of_another_role_is_refused(attacked: Attacked) -> None:
    address, policy = attacked.address("reader"), policy_of("prepared")
    PostgreSQL.open(policy, address, KEY).close()
    ((name,),) = attacked.run("discreet", "SELECT tablename FROM pg_tables WHERE schemaname = 'prepared'")
    attacked.run(
        "discreet",
        f'ALTER TABLE prepared."{name}" OWNER TO mallory',
        f'GRANT SELECT ON prepared."{name}" TO reader',
    )
    with pytest.raises(RequestError, match="prepared copy of table visits belongs to the role mallory"):
        PostgreSQL.open(policy, address, KEY)
