"""A database user who may create objects cannot make our sessions run code, or believe another ledger.

Every test has a database of its own, in which the role `mallory` may create what it likes in `public` and a
schema of any name. What mallory's functions do is seen in tables of mallory's, which everybody may fill.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.core.errors import EngineFault, RequestError
from discreet.core.guarantees import PureDP
from discreet.engines.postgres import PostgreSQL
from discreet.engines.postgres_connection import connect_postgres, fetch_table
from discreet.engines.postgres_inventory import PostgreSQLInventory
from discreet.engines.postgres_publisher import PostgreSQLPublisher
from discreet.engines.shadow_database import ShadowDatabase
from discreet.services.users.user_storage import UserDatabase
from tests.engines.servers import KEY
from tests.security.attacked import PROMISE, Attacked, list_traps, policy_of, sources_of

pytestmark = pytest.mark.xdist_group("postgres")

# -- The engine ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", ["public", "reader"])
@pytest.mark.parametrize("store", [None, "prepared"])
def test_no_shadow_of_a_function_runs_as_the_role_that_reads(
    attacked: Attacked, schema: str, store: str | None
) -> None:
    if schema == "reader":  # which "$user" of a search path means
        attacked.run("mallory", "CREATE SCHEMA reader", "GRANT USAGE ON SCHEMA reader TO PUBLIC")
    attacked.set_traps(schema)
    address = attacked.address("reader")
    with PostgreSQL.open(policy_of(store), address, KEY) as engine:
        found = engine.count('SELECT count(*) AS n, sum("age") AS s FROM "visits"').secret.to_pylist()
    with PostgreSQLInventory(address) as inventory:
        assert inventory.list_names() == ["visits"]
        assert inventory.find_table("visits") is not None
    with PostgreSQLPublisher(address, dict(policy_of().tables)) as publisher:
        assert publisher.data_state[0][1] == 20
    assert [(row["n"], int(row["s"])) for row in found] == [(20, 210)]
    assert attacked.caught == []


def test_what_an_address_or_a_role_sets_as_search_path_is_not_used(attacked: Attacked) -> None:
    attacked.set_traps("public")
    attacked.run("reader", "ALTER ROLE reader SET search_path = public, pg_catalog")
    for address in (attacked.address("reader"), attacked.address("reader", "public%2Cpg_catalog")):
        with closing(connect_postgres(address)) as connection:
            path = fetch_table(connection, "SELECT current_setting('search_path')").column(0).to_pylist()
            assert path == ["pg_catalog, pg_temp"]
    assert attacked.caught == []


def test_a_temporary_table_does_not_shadow_the_catalogue(attacked: Attacked) -> None:
    with (
        closing(connect_postgres(attacked.address("reader"))) as connection,
        closing(connection.cursor()) as cursor,
    ):
        cursor.execute("CREATE TEMP TABLE pg_class AS SELECT 1 AS one")
        cursor.execute("SELECT count(*) FROM pg_class")
        ((rows,),) = cursor.fetchall()
    assert rows > 100


SPY = (
    "CREATE FUNCTION loot.spy() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "INSERT INTO loot.caught VALUES (current_user, 'spy'); RETURN true; END $$"
)
# A lock of the session stays where its transaction may not write, and everybody sees it.
LOCKING_SPY = (
    "CREATE FUNCTION loot.spy() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM pg_catalog.pg_advisory_lock_shared(4711); RETURN true; END $$"
)
VIEW = "CREATE VIEW loot.visits AS SELECT g AS patient, g AS age FROM generate_series(1, 5) AS g"
TABLE = "CREATE TABLE loot.visits AS SELECT g AS patient, g AS age FROM generate_series(1, 5) AS g"
ROW_SECURITY = (
    "ALTER TABLE loot.visits ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY spying ON loot.visits USING (loot.spy())",
)


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        ((f"{VIEW} WHERE loot.spy()",), "the view loot.visits, which belongs to the role mallory"),
        (
            (TABLE, *ROW_SECURITY),
            "the table loot.visits with row security, which belongs to the role mallory",
        ),
    ],
    ids=["view", "row security"],
)
def test_a_source_that_would_run_another_roles_code_is_refused(
    attacked: Attacked, statements: tuple[str, ...], what: str
) -> None:
    attacked.run("mallory", SPY, *statements, "GRANT SELECT ON loot.visits TO PUBLIC")
    attacked.run(
        "discreet",
        "CREATE VIEW public.shown AS SELECT * FROM loot.visits",
        "GRANT SELECT ON public.shown TO reader",
    )
    address = attacked.address("reader")
    for source in ("loot.visits", "shown"):
        for store in (None, "prepared"):
            with pytest.raises(RequestError, match=what):
                PostgreSQL.open(sources_of(source, store), address, KEY)
        with pytest.raises(RequestError, match=what):
            PostgreSQLPublisher(address, dict(sources_of(source).tables))
        with pytest.raises(RequestError, match=what):
            PostgreSQL.open_tables({"visits": source}, address)
    assert attacked.caught == []


def test_a_view_in_place_of_a_prepared_table_is_refused(attacked: Attacked) -> None:
    address, policy = attacked.address("reader"), policy_of("prepared")
    PostgreSQL.open(policy, address, KEY).close()
    ((name,),) = attacked.run("discreet", "SELECT tablename FROM pg_tables WHERE schemaname = 'prepared'")
    attacked.run("discreet", "ALTER SCHEMA prepared OWNER TO mallory")
    attacked.run(
        "mallory",
        SPY,
        f'DROP TABLE prepared."{name}"',
        f'CREATE VIEW prepared."{name}" AS SELECT * FROM loot.caught WHERE loot.spy()',
        "GRANT ALL ON SCHEMA prepared TO PUBLIC",
        f'GRANT ALL ON prepared."{name}" TO PUBLIC',
    )
    with pytest.raises(RequestError, match="which belongs to the role mallory"):
        PostgreSQL.open(policy, address, KEY)
    assert attacked.caught == []


def test_row_security_that_is_set_later_runs_no_code(attacked: Attacked) -> None:
    attacked.run("mallory", LOCKING_SPY, TABLE, "GRANT SELECT ON loot.visits TO PUBLIC")
    with PostgreSQL.open(sources_of("loot.visits"), attacked.address("reader"), KEY) as engine:
        assert engine.count('SELECT count(*) AS n FROM "visits"').secret.to_pylist() == [{"n": 5}]
        attacked.run("mallory", *ROW_SECURITY)
        with pytest.raises(EngineFault):
            engine.count('SELECT count(*) AS n FROM "visits"')
        locks = "SELECT * FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"
        assert attacked.run("mallory", locks) == []


def test_views_and_row_security_of_the_databases_owner_are_read(attacked: Attacked) -> None:
    attacked.run(
        "discreet",
        "ALTER TABLE public.visits ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY older ON public.visits TO reader USING (age > 10)",
        "CREATE VIEW public.shown WITH (security_invoker) AS SELECT * FROM public.visits",
        "GRANT SELECT ON public.shown TO reader",
    )
    for source in ("visits", "shown"):
        with PostgreSQL.open(sources_of(source), attacked.address("reader"), KEY) as engine:
            assert engine.count('SELECT count(*) AS n FROM "visits"').secret.to_pylist() == [{"n": 10}]


# -- The ledger and its users -------------------------------------------------------------------------------


def ask(ledger: Ledger) -> None:
    entry = ledger.reserve(SOLE_ANALYST, "key", "SELECT 1", PureDP(epsilon=0.5))
    ledger.settle(entry, b"5")


def test_no_shadow_of_a_function_runs_as_the_role_of_the_ledger(attacked: Attacked) -> None:
    attacked.run("mallory", "CREATE SCHEMA keeper", "GRANT USAGE ON SCHEMA keeper TO PUBLIC")
    attacked.set_traps("public")
    attacked.set_traps("keeper")
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE) as ledger:
        ask(ledger)
        assert ledger.get_total_spent() == PureDP(epsilon=0.5)
    with UserDatabase(place) as users, users.read_transaction() as rows:
        assert rows.execute("SELECT format FROM secret").fetchone()
    assert attacked.caught == []
    tables = attacked.run("discreet", "SELECT DISTINCT schemaname FROM pg_tables WHERE tableowner = 'keeper'")
    assert tables == [("promises",)]


def test_a_ledger_in_a_schema_where_others_may_create_objects_is_refused(attacked: Attacked) -> None:
    attacked.run("discreet", "GRANT CREATE ON SCHEMA public TO keeper")
    with pytest.raises(RequestError, match="others may create objects in its schema public") as refused:
        Ledger(attacked.address("keeper"), PROMISE)
    assert "options=-csearch_path" in str(refused.value.hint)


def test_a_schema_named_like_the_user_does_not_hide_the_ledger(attacked: Attacked) -> None:
    attacked.run(
        "discreet", "REVOKE CREATE ON SCHEMA public FROM mallory", "GRANT CREATE ON SCHEMA public TO keeper"
    )
    with Ledger(attacked.address("keeper"), PROMISE) as ledger:
        ask(ledger)
    attacked.run("mallory", "CREATE SCHEMA keeper", "GRANT ALL ON SCHEMA keeper TO keeper")
    with Ledger(attacked.address("keeper"), PROMISE) as ledger:
        assert ledger.get_total_spent() == PureDP(epsilon=0.5)


def test_a_ledger_that_stands_elsewhere_is_not_begun_anew(attacked: Attacked) -> None:
    with Ledger(attacked.address("keeper", "promises"), PROMISE) as ledger:
        ask(ledger)
    attacked.run(
        "discreet", "REVOKE CREATE ON SCHEMA public FROM mallory", "GRANT CREATE ON SCHEMA public TO keeper"
    )
    with pytest.raises(RequestError, match="names no schema, and the schema promises has a ledger"):
        Ledger(attacked.address("keeper"), PROMISE)
    with Ledger(attacked.address("keeper", "public"), PROMISE) as ledger:
        assert ledger.get_total_spent() != PureDP(epsilon=0.5)


@pytest.mark.parametrize(
    ("grant", "what"),
    [
        ("GRANT CREATE ON SCHEMA promises TO mallory", "others may create objects in its schema promises"),
        ("GRANT CREATE ON SCHEMA promises TO PUBLIC", "others may create objects in its schema promises"),
        ("GRANT UPDATE ON promises.link TO mallory", "others may write its table link"),
        ("GRANT UPDATE ON promises.account TO mallory", "others may write its table account"),
        ("GRANT TRIGGER ON promises.entry TO PUBLIC", "others may write its table entry"),
        ("GRANT UPDATE (epsilon) ON promises.account TO mallory", "others may write its table account"),
        ("ALTER SCHEMA promises OWNER TO mallory", "its schema promises belongs to another role"),
        ("ALTER TABLE promises.account OWNER TO mallory", "its table account belongs to another role"),
    ],
)
def test_a_ledger_that_others_may_change_is_refused(attacked: Attacked, grant: str, what: str) -> None:
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE) as ledger:
        ask(ledger)
    attacked.run("discreet", grant, "GRANT ALL ON ALL TABLES IN SCHEMA promises TO keeper")
    with pytest.raises(RequestError, match=what) as refused:
        Ledger(place, PROMISE)
    assert refused.value.hint


def test_a_ledger_among_functions_of_others_is_refused(attacked: Attacked) -> None:
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE) as ledger:
        ask(ledger)
    attacked.run("discreet", "GRANT CREATE, USAGE ON SCHEMA promises TO mallory")
    attacked.set_traps("promises")
    attacked.run("discreet", "REVOKE ALL ON SCHEMA promises FROM mallory")
    with pytest.raises(RequestError, match="its schema promises holds functions of another role"):
        Ledger(place, PROMISE)
    assert attacked.caught == []


def test_others_may_be_shown_the_ledger(attacked: Attacked) -> None:
    place = attacked.address("keeper", "promises")
    with Ledger(place, PROMISE) as ledger:
        ask(ledger)
    attacked.run(
        "keeper",
        "GRANT USAGE ON SCHEMA promises TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA promises TO reader",
    )
    with Ledger(place, PROMISE) as ledger:
        assert ledger.get_total_spent() == PureDP(epsilon=0.5)


# -- The catalog's database ---------------------------------------------------------------------------------


def test_a_catalog_with_functions_of_others_is_refused(attacked: Attacked) -> None:
    attacked.run("discreet", "DROP TABLE public.visits")
    attacked.run("mallory", "DROP TABLE loot.caught")
    attacked.run("mallory", *list_traps("public"))
    with pytest.raises(RequestError, match="the catalog's database is not empty"):
        ShadowDatabase(attacked.address("reader"), {})
