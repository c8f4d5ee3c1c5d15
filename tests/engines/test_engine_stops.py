"""An engine that stops after the charge is a fault that says so: exit code 5, and never a refusal."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import clusters
from discreet.accounting.entries import EntryState
from discreet.core.engine import Engine
from discreet.core.engine_faults import CHARGED_FAULT_MESSAGE
from discreet.core.errors import DataError, EngineFault, RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark_session import CONNECT_RETRIES
from discreet.services.curator import Curator
from discreet.services.ledgers import open_ledger as opened_ledger
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy, resolve_analyst
from discreet.sql.releases import MeasuredCores
from tests.engines import servers
from tests.engines.test_limits import ASKED, ROWS, policy_over
from tests.patience import PATIENCE
from tests.services import patients

COUNT = "SELECT COUNT(*) AS n FROM patients"


@pytest.mark.xdist_group("postgres")
def test_a_database_that_is_gone_after_the_charge_is_a_fault() -> None:
    """Connecting to it again is refused, which as a refusal would say that nothing was charged."""
    with ExitStack() as stack:
        server = stack.enter_context(servers.postgres())
        policy: Policy = policy_over(server.put({"visits": ROWS})["visits"])
        engine, who = PostgreSQL.open(policy, server.url, servers.KEY), resolve_analyst(policy, None)
        with Curator.from_parts(policy, ledger=opened_ledger(policy), engine=engine, analyst=who) as curator:

            def stopped(work: object) -> MeasuredCores:
                stack.close()
                return work()  # type: ignore[operator, no-any-return]

            with pytest.raises(EngineFault, match=CHARGED_FAULT_MESSAGE) as fault:
                curator.ask(ASKED, epsilon=Fraction("0.1"), run_with_deadline=stopped)
            assert fault.value.exit_code == 5
            assert [entry.state for entry in curator.ledger.list_entries()] == [EntryState.FAULTED]


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_a_spark_connect_server_that_is_gone_after_the_charge_is_a_fault(tmp_path: Path) -> None:
    """The client would try again for ten minutes with each call, and nobody be told of the charge."""
    from discreet.engines.spark import Spark

    pq.write_table(ROWS, tmp_path / "visits.parquet")
    policy = policy_over(str(tmp_path / "visits.parquet"))
    who = resolve_analyst(policy, None)
    with ExitStack() as stack:
        address = stack.enter_context(servers.had(clusters.spark_connect()))
        engine = Spark.open(policy, address, servers.KEY)
        assert [each.max_retries for each in engine._session.client.get_retry_policies()] == [CONNECT_RETRIES]
        with Curator.from_parts(policy, ledger=opened_ledger(policy), engine=engine, analyst=who) as curator:

            def stopped(work: object) -> MeasuredCores:
                stack.close()
                return work()  # type: ignore[operator, no-any-return]

            with pytest.raises(EngineFault, match=CHARGED_FAULT_MESSAGE):
                curator.ask(ASKED, epsilon=Fraction("0.1"), run_with_deadline=stopped)
            assert [entry.state for entry in curator.ledger.list_entries()] == [EntryState.FAULTED]


@pytest.mark.parametrize(
    "error",
    [RequestError("There is no engine."), KeyError("canary"), OSError(28, "No space left on device")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_charged_work_raises_is_a_fault_without_its_words(tmp_path: Path, error: Exception) -> None:
    def work(engine: Engine, random: Randomness) -> bytes:
        raise error

    with Curator.open(patients.write(tmp_path)) as curator:
        guarantee = curator.plan(COUNT).query_plan.guarantee
        with pytest.raises(EngineFault, match=CHARGED_FAULT_MESSAGE) as fault:
            curator.charge_and_release("key", "text", guarantee, work, bytes, verb="ask")
        assert fault.value.__context__ is None
        assert [entry.state for entry in curator.ledger.list_entries()] == [EntryState.FAULTED]


def test_what_is_wrong_with_the_data_is_said_with_the_charge(tmp_path: Path) -> None:
    def work(engine: Engine, random: Randomness) -> bytes:
        raise DataError("There is no answer.", hint="Name a file that has some.")

    with Curator.open(patients.write(tmp_path)) as curator:
        guarantee = curator.plan(COUNT).query_plan.guarantee
        with pytest.raises(DataError, match=r"^There is no answer\. .* The charge stays\.$"):
            curator.charge_and_release("key", "text", guarantee, work, bytes, verb="ask")


def test_duckdb_that_is_closed_after_the_charge_is_a_fault(tmp_path: Path) -> None:
    with Curator.open(patients.write(tmp_path)) as curator:

        def stopped(work: object) -> MeasuredCores:
            curator._engine.close()
            return work()  # type: ignore[operator, no-any-return]

        with pytest.raises(EngineFault, match=CHARGED_FAULT_MESSAGE):
            curator.ask(COUNT, run_with_deadline=stopped)


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_spark_that_is_killed_while_it_counts_is_a_fault_and_the_charge_stays(tmp_path: Path) -> None:
    patients.write(tmp_path)
    # so many rows that counting them takes a while
    pq.write_table(pa.concat_tables([patients.patients()] * 2_000), tmp_path / "patients.parquet")
    places = str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.killed_spark", "ask", COUNT, "--engine", "spark:local[1]"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 5, done.stderr
    assert CHARGED_FAULT_MESSAGE in done.stderr
    with open_ledger_readonly(load_policy(tmp_path / "privacy.yaml")) as ledger:
        assert [entry.state for entry in ledger.list_entries()] == [EntryState.FAULTED]
