"""Several servers over one database: they make and use the same store, and nobody drops what another uses."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Curator
from discreet.accounting.entries import EntryState
from discreet.engines.postgres_connection import fetch_table
from discreet.services.policies import load_policy
from discreet.services.policy_engines import find_shared_key
from tests.engines.servers import PostgresServer
from tests.http.served import both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import POLICY, write_data

pytestmark = pytest.mark.xdist_group("postgres")


@dataclass(frozen=True, kw_only=True)
class Site:
    """Data and a ledger in PostgreSQL, and copies of one policy in folders of their own."""

    folder: Path
    server: PostgresServer
    ledger: str
    sources: dict[str, str]

    def write_policy(self, name: str, *, data_version: str = "1") -> Path:
        heads = {"engine": self.server.url, "ledger": self.ledger, "store": self.schema}
        heads["data_version"] = data_version
        text = "".join(f"{name}: {value}\n" for name, value in heads.items()) + POLICY
        for table, source in self.sources.items():
            text = text.replace(f"{table}.parquet", source)
        path = self.folder / name / "privacy.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    @property
    def schema(self) -> str:
        return self.sources["people"].partition(".")[0]

    def list_stores(self) -> set[str]:
        """Return the versions of the stores that the schema holds."""
        with psycopg.connect(self.server.url) as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename LIKE 'discreet%%'",
                [self.schema],
            )
            return {name.split("_")[1] for (name,) in found}


@pytest.fixture
def site(postgres: PostgresServer, tmp_path: Path) -> Site:
    write_data(tmp_path, 300)
    tables = {name: pq.read_table(tmp_path / f"{name}.parquet") for name in ("people", "visits")}
    return Site(folder=tmp_path, server=postgres, ledger=postgres.schema(), sources=postgres.put(tables))


def ask(curator: Curator, least: int) -> object:
    """Ask a question of its own; a fault would be raised."""
    sql = f"SELECT COUNT(*) AS n, SUM(cost) AS c FROM visits WHERE cost > {least}"
    return curator.ask(sql, epsilon=0.01).rows


def test_servers_with_a_ledger_in_postgresql_make_and_use_one_store(site: Site) -> None:
    with ExitStack() as stack:
        curators = [
            stack.enter_context(Curator.open(site.write_policy(name), analyst="alice"))
            for name in ("one", "two")
        ]
        for least in range(4):
            for place, curator in enumerate(curators):
                ask(curator, 10 * least + place)
        assert [each.state for each in curators[0].ledger.list_entries("alice")] == [EntryState.SETTLED] * 8
        assert len(site.list_stores()) == 1


def test_a_store_that_another_server_uses_is_left_until_that_server_ends(site: Site) -> None:
    with Curator.open(site.write_policy("one"), analyst="alice") as old:
        ask(old, 0)
        newer = site.write_policy("two", data_version="2")
        with Curator.open(newer, analyst="bob") as new:
            ask(new, 0)
            ask(old, 1)
            assert len(site.list_stores()) == 2
    with Curator.open(newer, analyst="bob") as new:
        ask(new, 1)
        assert len(site.list_stores()) == 1


def test_questions_alternate_between_servers_of_which_one_is_stopped_and_started(site: Site) -> None:
    for name in ("one", "two"):
        site.write_policy(name)
    with both_listeners(site.folder / "one") as stays, stays.client() as client:
        for start in range(2):
            with both_listeners(site.folder / "two") as comes, comes.client() as other:
                for least, each in enumerate((client, other, client)):
                    sql = f"SELECT SUM(cost) AS c FROM visits WHERE cost > {10 * start + least}"
                    told = each.post("/api/ask", json={"sql": sql, "epsilon": 0.01})
                    assert told.status_code == 200, told.text
        states = [each.state for each in stays.curators.ledger.list_entries("alice")]
    assert states == [EntryState.SETTLED] * 6
    assert len(site.list_stores()) == 1


def test_servers_that_were_alone_before_share_a_new_key(site: Site) -> None:
    keys = {name: os.urandom(32) for name in ("one", "two")}
    for name, key in keys.items():
        folder = site.write_policy(name).with_name("ledger.store")
        folder.mkdir(mode=0o700)
        (folder / "key").write_bytes(key)
    found = [find_shared_key(load_policy(site.write_policy(name))) for name in ("one", "two", "three")]
    assert found[0] is not None
    assert len(found[0]) == 32
    assert found == [found[0]] * 3
    assert found[0] not in keys.values()


HOLDER = """
import sys
from discreet import Curator
with Curator.open(sys.argv[1], analyst="alice") as curator:
    curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.01)
    print("asked", flush=True)
    sys.stdin.readline()
"""


def test_the_store_of_a_server_that_was_killed_is_dropped_by_the_next_one(site: Site) -> None:
    command = [sys.executable, "-c", HOLDER, str(site.write_policy("one"))]
    newer = site.write_policy("two", data_version="2")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "asked\n"
        Curator.open(newer, analyst="bob").close()
        assert len(site.list_stores()) == 2
        server.kill()
    until = time.monotonic() + PATIENCE  # until the database has noticed
    while len(site.list_stores()) > 1:
        assert time.monotonic() < until
        Curator.open(newer, analyst="bob").close()


def test_a_server_whose_session_was_ended_holds_its_store_again_or_makes_it_anew(site: Site) -> None:
    with Curator.open(site.write_policy("one"), analyst="alice") as curator:
        engine: Any = curator._engine
        for least in range(2):
            ask(curator, least)
            (session,) = fetch_table(engine._connection, "SELECT pg_backend_pid() AS id")["id"].to_pylist()
            with psycopg.connect(site.server.url, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s, %s)", [session, round(1000 * PATIENCE)])
                for name in [f"{site.schema}.discreet_{each}_visits" for each in site.list_stores()]:
                    connection.execute(f"DROP TABLE {name}")
        ask(curator, 2)
        Curator.open(site.write_policy("two", data_version="2"), analyst="bob").close()
        ask(curator, 3)
        assert {each.state for each in curator.ledger.list_entries("alice")} == {EntryState.SETTLED}


def test_tables_whose_names_differ_only_at_their_ends_are_not_taken_for_each_other(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    names = [f"{'measurements_of_every_kind_and_age_' * 2}{end}" for end in ("a", "b")]
    sources = postgres.put({"a": pa.table({"x": [1] * 5}), "b": pa.table({"x": [1] * 5_000})})
    tables = "".join(
        f"  {name}: {{source: {source}, columns: {{x: {{type: integer, low: 0, high: 1}}}}}}\n"
        for name, source in zip(names, sources.values(), strict=True)
    )
    schema = sources["a"].partition(".")[0]
    head = f"engine: {postgres.url}\nstore: {schema}\npromise: {{prior: 1%, posterior: 5%}}\n"
    (tmp_path / "privacy.yaml").write_text(f"{head}tables:\n{tables}")
    with Curator.open(tmp_path / "privacy.yaml") as curator:
        counts = [curator.ask(f"SELECT COUNT(*) AS n FROM {name}", epsilon=0.5).rows for name in names]
    short, long = (int(str(rows[0][0])) for rows in counts)
    assert short < 500 < long


def test_servers_with_files_and_a_ledger_in_postgresql_have_one_key(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    ledger, keys = postgres.schema(), []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_data(tmp_path / name, 300)
        policy = load_policy(tmp_path / name / "privacy.yaml", ledger=ledger)
        with Curator.open_policy(policy, analyst="alice") as curator:
            ask(curator, 0)
        keys.append(find_shared_key(policy))
        assert not (tmp_path / name / "ledger.store" / "key").exists()
    assert keys[0] == keys[1]
