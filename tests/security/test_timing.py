"""The time at which an answer leaves tells nothing: the one place where a test looks at a clock.

An engine that is slower stands for data that take longer. For which of many questions it is slower is drawn
by lot. So whatever else the machine does, answers that leave no later by more than GRAIN are told apart with
chance FALSE_ALARM at most: a one-sided Kolmogorov-Smirnov test of times whose labels were drawn is exact.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import psycopg
import pytest
from scipy.stats import ks_2samp

from discreet.accounting.entries import EntryState
from discreet.core.errors import EngineFault
from discreet.services.question_request import QuestionRequest
from discreet.services.serving.admission import Admission
from discreet.services.serving.query_timeouts import Deadlines
from discreet.services.users import Role
from discreet.sql.planner import QueryPlan
from tests.http.served import COUNT, Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD, POLICY, served, slowed, write_data, write_public_table

SLOWER = 0.25
GRAIN = SLOWER / 10
FALSE_ALARM = 1e-9
QUESTIONS = 8  # of each analyst
LISTENERS = {"postgres": ["alice", "a1", "a2", "a3", "a4"], "http": ["bob", "b1", "b2", "b3", "b4"]}
SLACKS = (4, 16, 96)
"""The next is tried where a busy machine overruns the deadline, which is a fault and not an answer."""
DELAYS = tuple(SLOWER * 2**step for step in range(9))
"""The next is tried where a busy machine hides the one before."""
EPSILON = 1e-4
Ask = Callable[[str], object]
Times = list[tuple[bool, float]]
NUMBERS, FIRST_DAY = count(), date(1930, 1, 1)
T = TypeVar("T")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return _written(tmp_path)


def _written(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_data(folder)
    shares = "".join(f"  {name}: {{share: 10%}}\n" for names in LISTENERS.values() for name in names)
    (folder / "privacy.yaml").write_text(POLICY.partition("analysts:")[0] + "analysts:\n" + shares)
    return folder


@contextmanager
def _asking(server: Server, listener: str, name: str) -> Iterator[Ask]:
    """How an analyst asks at a listener, given a question."""
    if server.users.find(name) is None:
        server.users.add(name, Role.ANALYST, name, PASSWORD)
    if listener == "http":
        with server.client(name) as client:
            yield lambda sql: client.post(
                "/api/ask", json={"sql": sql, "epsilon": EPSILON}
            ).raise_for_status()
        return
    address = f"host=127.0.0.1 port={server.postgres} user={name} password='{PASSWORD}' dbname=discreet"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.prepare_threshold = None
        connection.execute(f"SET discreet.epsilon = {EPSILON}")
        yield lambda sql: connection.execute(sql.encode())


@contextmanager
def _timing(
    server: Server, listener: str, name: str, delay: float
) -> Iterator[Callable[[Sequence[bool]], Times]]:
    """Asks what was not measured before, one after the other, of an engine that is late or not."""
    seconds = [0.0]
    slowed(server.curators, name, lambda: time.sleep(seconds[0]))
    with _asking(server, listener, name) as ask:

        def timed(lots: Sequence[bool]) -> Times:
            found: Times = []
            for late in lots:
                seconds[0], born = delay if late else 0, FIRST_DAY + timedelta(days=next(NUMBERS))
                began = time.monotonic()
                ask(f"{COUNT} WHERE born > DATE '{born}'")
                found.append((late, time.monotonic() - began))
            return found

        yield timed


def _told_apart(times: Times) -> bool:
    slow = [seconds - GRAIN for late, seconds in times if late]
    quick = [seconds for late, seconds in times if not late]
    return bool(ks_2samp(slow, quick, alternative="less", method="exact").pvalue < FALSE_ALARM)


def _listeners_that_tell(folder: Path, slack: float | None, delay: float = SLOWER) -> set[str]:
    """All analysts ask at once. At either listener half of all questions are late, each half as likely."""
    lots = np.random.default_rng(1)
    names = [(listener, name) for listener, names in LISTENERS.items() for name in names]
    found: dict[str, Times] = {listener: [] for listener in LISTENERS}
    admission = Admission(slots=len(names))
    with both_listeners(folder, slack=slack, admission=admission) as server, ExitStack() as stack:
        analysts = [
            (listener, stack.enter_context(_timing(server, listener, name, delay)))
            for listener, name in names
        ]
        pool = stack.enter_context(ThreadPoolExecutor(len(analysts)))
        halves = [lots.permutation(len(each) * QUESTIONS) % 2 == 0 for each in LISTENERS.values()]
        drawn = np.concatenate(halves).reshape(len(analysts), QUESTIONS).tolist()
        asked = [pool.submit(timed, late) for (_, timed), late in zip(analysts, drawn, strict=True)]
        for (listener, _), times in zip(analysts, asked, strict=True):
            found[listener] += times.result()
        # what the store answers reads no data, and would take as long with any engine
        assert {server.charges(name) for _, name in names} == {QUESTIONS}
    return {listener for listener, times in found.items() if _told_apart(times)}


def test_answers_leave_at_a_time_that_does_not_depend_on_the_engine(tmp_path: Path) -> None:
    for slack in SLACKS:
        with suppress(psycopg.Error, httpx.HTTPStatusError):
            assert _listeners_that_tell(_written(tmp_path / str(slack)), slack) == set()
            return
    pytest.fail("the deadline was overrun with every slack")


def test_answers_that_do_not_wait_are_told_apart(tmp_path: Path) -> None:
    folders = ((_written(tmp_path / str(delay)), delay) for delay in DELAYS)
    assert any(_listeners_that_tell(folder, None, delay) == set(LISTENERS) for folder, delay in folders)


def test_an_overrun_is_a_fault_that_keeps_the_charge_and_withholds_the_answer(folder: Path) -> None:
    with served(folder, slack=0.1) as server:
        slowed(server.curators, "alice", lambda: time.sleep(SLOWER))
        with psycopg.connect(server.address, autocommit=True) as connection:
            for state in ("58000", "0A000"):
                with pytest.raises(psycopg.Error) as refusal:
                    connection.execute(COUNT)
                assert refusal.value.sqlstate == state
        (entry,) = server.curators.ledger.list_entries("alice")
        assert entry.state is EntryState.FAULTED


def test_how_long_an_overrun_goes_on_cannot_be_told_from_what_comes_next(folder: Path) -> None:
    """A refusal and a stored answer, neither of which needs the engine, do not wait until it is free."""
    ended = threading.Event()
    other = "SELECT COUNT(*) AS n FROM people WHERE age > 30"
    with served(folder, slack=0.1) as server, ThreadPoolExecutor(1) as pool:
        curators = server.curators
        try:
            curators.for_analyst("alice").ask(other, epsilon=0.01)
            slowed(curators, "alice", ended.wait)
            question = QuestionRequest(sql=COUNT, epsilon=0.01)
            with pytest.raises(EngineFault):
                curators.ask("alice", curators.plan("alice", question))
            refused = pool.submit(lambda: curators.ask("alice", curators.plan("alice", question)))
            assert "suspended" in str(refused.exception(PATIENCE))
            stored = pool.submit(
                lambda: curators.ask(
                    "alice", curators.plan("alice", QuestionRequest(sql=other, epsilon=0.01))
                )
            )
            assert stored.result(PATIENCE).repeated
        finally:
            ended.set()
            wait(curators._abandoned_work.values(), PATIENCE)


def test_a_public_table_is_not_waited_for_while_an_overrun_goes_on(folder: Path) -> None:
    """It is free, and read by the engine: not by the one that is still busy with the overrun."""
    ended = threading.Event()
    write_public_table(folder)
    with served(folder, slack=0.1) as server, ThreadPoolExecutor(1) as pool:
        curators = server.curators
        try:
            slowed(curators, "alice", ended.wait)
            with pytest.raises(EngineFault):
                curators.ask("alice", curators.plan("alice", QuestionRequest(sql=COUNT, epsilon=0.01)))
            question = QuestionRequest(sql="SELECT * FROM wards")
            public = pool.submit(lambda: curators.ask("alice", curators.plan("alice", question)))
            assert public.result(PATIENCE).to_arrow().to_pylist() == [{"ward": 1}, {"ward": 2}]
        finally:
            ended.set()
            wait(curators._abandoned_work.values(), PATIENCE)


@pytest.mark.parametrize("power", [0, 2])
def test_a_late_answer_leaves_one_class_later_and_suspends(folder: Path, power: int) -> None:
    """Where a machine is too busy to be one class late and no more, it is a fault, which suspends as well."""
    least = 0.25 * 2**power
    with served(folder, slack=least / 0.25) as server:
        slowed(server.curators, "alice", lambda: time.sleep(1.2 * least))
        with psycopg.connect(server.address, autocommit=True) as connection:
            began = time.monotonic()
            state = ""
            try:
                connection.execute(COUNT)
            except psycopg.Error as fault:
                state = fault.sqlstate or ""
            assert time.monotonic() - began >= 2 * least
            assert state in ("", "58000")
            assert server.curators.ledger.get_account("alice").incident is not None
            with pytest.raises(psycopg.Error, match="suspended"):
                connection.execute("SELECT COUNT(*) FROM people WHERE age > 30")
        (entry,) = server.curators.ledger.list_entries("alice")
        assert entry.state is (EntryState.FAULTED if state else EntryState.SETTLED)


FIRST = """
import sys
from pathlib import Path
from discreet.services.policies import load_policy
from discreet.services.serving.curators import Curators

def watched(work):
    before = set(sys.modules)
    release = work()
    print(sorted(set(sys.modules) - before))
    return release

with Curators.open_policy(load_policy(Path("privacy.yaml"))) as curators:
    alice = curators.for_analyst("alice")
    for sql in sys.argv[1:]:
        alice.ask(sql, epsilon=0.01, run_with_deadline=watched)
"""


def test_nothing_is_loaded_within_the_time_of_the_first_answer(folder: Path) -> None:
    """Loading takes longer than a deadline leaves: whoever asked first would be suspended for it."""
    asked = [COUNT, "SELECT sex, AVG(height) AS h, MEDIAN(age) AS m FROM people GROUP BY sex ORDER BY sex"]
    command = [sys.executable, "-c", FIRST, *asked]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]"] * len(asked)


@contextmanager
def _looking(server: Server, listener: str) -> Iterator[Callable[[], bool]]:
    """Whether an analyst can see, elsewhere than in the answer itself, that the question came to an end."""
    if listener == "http":
        with server.client("alice") as client:

            def read(path: str) -> dict[str, Any]:
                return dict(client.get(path).json())

            yield (
                lambda: (
                    client.post("/api/plan", json={"sql": COUNT}).json()["repeated"]
                    or any(each["state"] != "reserved" for each in read("/api/ledger")["entries"])
                    or read("/api/ledger")["analysts"]["alice"]["incident"] is not None
                    or read("/api/releases")["all"] > 0
                )
            )
        return
    address = f"host=127.0.0.1 port={server.postgres} user=alice password='{PASSWORD}' dbname=discreet"
    with psycopg.connect(address, autocommit=True) as connection:
        yield lambda: "nothing" in str(connection.execute(f"EXPLAIN {COUNT}".encode()).fetchone())


@pytest.mark.parametrize(("listener", "fails"), [("http", False), ("http", True), ("postgresql", False)])
def test_that_a_question_was_answered_cannot_be_seen_before_its_time(
    folder: Path, listener: str, fails: bool
) -> None:
    """While one connection waits for the answer, another looks whether there is one."""

    def end() -> None:
        if fails:
            raise OSError

    with both_listeners(folder, slack=2) as server, ExitStack() as stack:
        slowed(server.curators, "alice", end)
        deadlines = server.curators.deadlines
        assert deadlines is not None
        least = deadlines.compute_fixed_time(server.curators.for_analyst("alice").plan(COUNT).query_plan)
        look = stack.enter_context(_looking(server, listener))
        client = stack.enter_context(server.client("alice"))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        began = time.monotonic()
        asked = pool.submit(lambda: client.post("/api/ask", json={"sql": COUNT}))
        while not look() and not asked.done():
            pass
        assert time.monotonic() - began >= least
        assert not fails or asked.result().status_code == 500


class Lenient(Deadlines):
    """Deadlines by which answers wait, and which a slow machine may overrun."""

    def run_until_deadline(
        self,
        plan: QueryPlan,
        compute: Callable[[], T],
        abandon: Callable[[Future[T]], object] = lambda work: None,
    ) -> T:
        ready = time.monotonic() + self.compute_fixed_time(plan)
        done = compute()
        time.sleep(max(0.0, ready - time.monotonic()))
        return done


@pytest.mark.parametrize("listener", ["http", "postgresql"])
def test_a_question_that_another_has_asked_takes_as_long_as_any(folder: Path, listener: str) -> None:
    """Alice's answer is stored. Were it, or that it is, given to Bob, Bob's would leave before its time."""
    sql = "SELECT COUNT(*) FROM people"
    with both_listeners(folder) as server:
        server.curators.deadlines = Lenient(policy=server.curators.policy, slack=2)
        least = server.curators.deadlines.compute_fixed_time(
            server.curators.for_analyst("bob").plan(sql).query_plan
        )
        with server.client("alice") as alice:
            told = alice.post("/api/ask", json={"sql": sql}).json()
        began = time.monotonic()
        if listener == "http":
            with server.client("bob") as bob:
                planned = bob.post("/api/plan", json={"sql": sql}).json()
                answer = bob.post("/api/ask", json={"sql": sql}).json()
            assert (planned["repeated"], answer["repeated"], answer["entry"]) == (False, False, 1)
            assert told["entry"] == 1
        else:
            address = f"host=127.0.0.1 port={server.postgres} user=bob password='{PASSWORD}' dbname=discreet"
            said: list[str | None] = []
            with psycopg.connect(address, autocommit=True) as connection:
                plan = connection.execute(f"EXPLAIN {sql}".encode()).fetchall()
                connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
                connection.execute(sql)
            assert plan[0] == ("cost: epsilon 0.1 of 1.65, 6.06% of the promise",)
            assert said[0] == "cost: epsilon 0.1 (entry 1)"
        assert time.monotonic() - began >= least
        assert server.charges("bob") == 1


def test_a_stored_answer_does_not_wait(folder: Path) -> None:
    with served(folder) as server, psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(COUNT)
    with served(folder, slack=1_000) as server, psycopg.connect(server.address) as connection:
        began = time.monotonic()
        connection.execute(COUNT)
        assert time.monotonic() - began < 250  # the shortest time that another one would wait
