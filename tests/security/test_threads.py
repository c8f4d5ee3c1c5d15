"""Sixteen threads at once, over a slow source of entropy: nobody is told more than was paid for.

What several threads may share is a curator, an open stream, a ledger, and the keys of requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Curator
from discreet.accounting.entries import EntryState
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.core.errors import BudgetError
from discreet.core.guarantees import PureDP
from discreet.mining.stream import StreamAnswer
from discreet.services.answers import Answer
from discreet.services.count_publication import ReleasedCounts, release_counts
from discreet.services.count_requests import StreamRequest
from discreet.services.policies import load_policy
from discreet.services.stream import open_stream, plan_stream_release
from discreet.services.users import Role, UserAccounts, open_user_storage
from discreet.services.users.idempotency_keys import IdempotencyKeys, StoredResponse
from tests.engines.servers import PostgresServer
from tests.threads import SLOW, THREADS, draw_slowly, run_at_once, select_errors

TABLE = pa.table({"age": [20 + place % 50 for place in range(3_000)], "ill": [True] * 3_000})
POLICY = """
promise: {{prior: 1%, posterior: 5%}}
{more}
tables:
  people:
    source: {source}
    person: row
    rows: 3000
    columns:
      age: {{type: integer, low: 18, high: 90}}
      ill: {{type: boolean, nulls: false}}
"""


def write_policy(folder: Path, source: str = "people.parquet", more: str = "") -> Path:
    pq.write_table(TABLE, folder / "people.parquet")
    path = folder / "privacy.yaml"
    path.write_text(POLICY.format(source=source, more=more))
    return path


@pytest.fixture(
    params=["file", "memory", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))]
)
def curator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Curator]:
    """One that all threads share; on every engine that keeps one connection."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        path = write_policy(tmp_path, server.put({"people": TABLE})["people"], f"engine: {server.url}")
    else:
        path = write_policy(tmp_path, more="store: ':memory:'" if request.param == "memory" else "")
    with Curator.open(path, random=SLOW) as opened:
        yield opened


def test_questions_to_one_curator_are_each_answered_and_each_charged(curator: Curator) -> None:
    told = run_at_once(
        lambda place: curator.ask(f"SELECT COUNT(*) AS n FROM people WHERE age > {20 + place}", epsilon=0.01)
    )
    assert not select_errors(told)
    assert [each.state for each in curator.ledger.list_entries()] == [EntryState.SETTLED] * THREADS
    again = [
        curator.ask(f"SELECT COUNT(*) AS n FROM people WHERE age > {20 + n}", epsilon=0.01) for n in (0, 9)
    ]
    assert [each.rows for each in again] == [
        each.rows for each in (told[0], told[9]) if isinstance(each, Answer)
    ]


def test_one_question_to_one_curator_is_one_answer_and_one_charge(curator: Curator) -> None:
    told = run_at_once(lambda _: curator.ask("SELECT COUNT(*) AS n FROM people", epsilon=0.01))
    assert len({str(each.rows) for each in told if isinstance(each, Answer)}) == 1
    assert [each.state for each in curator.ledger.list_entries()] == [EntryState.SETTLED]


def test_an_open_stream_gives_as_many_fresh_answers_as_were_paid(tmp_path: Path) -> None:
    with Curator.open(write_policy(tmp_path), random=SLOW) as curator:
        request = StreamRequest(
            table="people", columns=("age",), questions=99, method="weights", updates=1, epsilon=1
        )
        stream = open_stream(curator, request)
        told = run_at_once(lambda place: stream.ask(f"SELECT COUNT(*) FROM people WHERE age < {70 - place}"))
    fresh = [each for each in told if isinstance(each, StreamAnswer) and each.is_fresh]
    assert len(fresh) == stream.answerer.updates <= 1
    assert all(isinstance(each, BudgetError) for each in select_errors(told))


def test_a_batch_that_many_threads_publish_is_released_and_charged_once(tmp_path: Path) -> None:
    texts = ["SELECT COUNT(*) FROM people WHERE ill", "SELECT COUNT(*) FROM people WHERE NOT ill"]
    with Curator.open(write_policy(tmp_path), random=SLOW) as curator:
        batch = plan_stream_release(curator, StreamRequest(table="people", epsilon=Fraction(1, 2)), texts)
        told = run_at_once(lambda _: release_counts(curator, batch))
        assert not select_errors(told)
        assert len({str(each.rows.to_pylist()) for each in told if isinstance(each, ReleasedCounts)}) == 1
        assert len(curator.ledger.list_entries()) == 1


def test_reservations_of_many_threads_stay_within_the_promise(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", Promise(0.01, 0.05)) as ledger:
        share = PureDP(epsilon=Fraction(1, 2))

        def spend(place: int) -> int:
            entry = ledger.reserve("analyst", f"key {place}", "SELECT", share)
            ledger.settle(entry, draw_slowly(1))
            return entry.number

        told = run_at_once(spend)
        assert sorted(each for each in told if isinstance(each, int)) == [1, 2, 3]  # of an epsilon of 1.65
        ledger.verify()


def test_a_request_that_many_threads_send_under_one_key_is_done_once(tmp_path: Path) -> None:
    done: list[bytes] = []

    def work() -> StoredResponse:
        done.append(draw_slowly(8))
        return StoredResponse(status=200, media_type="text/plain", body=done[-1])

    with open_user_storage(load_policy(write_policy(tmp_path)).ledger) as file:
        UserAccounts(file).add("alice", Role.ANALYST, "analyst")
        attempts = IdempotencyKeys(file)
        told = run_at_once(lambda _: attempts.run_or_replay("alice", "7f3a", {"sql": "SELECT"}, work))
    assert {each.body for each in told if isinstance(each, StoredResponse)} == {*done}
    assert len(done) == 1
