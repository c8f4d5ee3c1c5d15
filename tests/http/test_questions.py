"""Questions over HTTP: planned for nothing, charged once, answered in the form that was asked for."""

from __future__ import annotations

import io
import json
import socket
import threading
from fractions import Fraction

import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.accounting.entries import EntryState
from discreet.core.guarantees import PureDP
from discreet.http.csrf import CSRF_HEADER
from tests.http.served import COUNT, Server
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD, slowed

GROUPED = "SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people GROUP BY sex ORDER BY sex"


def test_a_plan_is_free_and_an_answer_is_charged_as_planned(server: Server) -> None:
    with server.client() as client:
        plan = client.post("/api/plan", json={"sql": COUNT, "epsilon": 0.2}).json()
        assert (plan["epsilon"], plan["fits"], plan["repeated"]) == (0.2, True, False)
        assert server.charges() == 0
        answer = client.post("/api/ask", json={"sql": COUNT, "epsilon": 0.2}).json()
        again = client.post("/api/ask", json={"sql": COUNT, "epsilon": 0.2}).json()
    assert answer["columns"] == ["n"]
    assert answer["epsilon"] == 0.2
    assert answer["belief"]["posterior"] == pytest.approx(plan["belief"]["after"])
    assert (again["rows"], again["repeated"]) == (answer["rows"], True)
    assert server.charges() == 1


def test_what_it_may_cost_is_said_in_one_of_three_ways(server: Server) -> None:
    with server.client() as client:
        share = client.post("/api/plan", json={"sql": COUNT, "share": 0.1}).json()
        within = client.post("/api/plan", json={"sql": COUNT, "within": 20}).json()
        both = client.post("/api/plan", json={"sql": COUNT, "within": 20, "epsilon": 1})
    assert share["epsilon"] == pytest.approx(share["of"] / 10)
    assert within["measures"][0]["error95"] <= 20
    assert both.status_code == 400


def test_no_error_bar_is_sent_where_none_holds_and_none_can_be_asked_for(server: Server) -> None:
    many = "SELECT sex, COUNT(*) > 1 AS many FROM people GROUP BY sex"
    with server.client() as client:
        within = client.post("/api/ask", json={"sql": many, "within": 20})
        assert (within.status_code, server.charges()) == (400, 0)
        answer = client.post("/api/ask", json={"sql": many}).json()
        file = client.post("/api/ask", params={"format": "csv"}, json={"sql": many})
        plan = client.post("/api/plan", json={"sql": many}).json()
    assert answer["intervals"] is None
    assert "computed from noisy values" in answer["no_interval"]["many"]
    assert json.loads(file.headers["Discreet-Facts"])["no_interval"] == answer["no_interval"]
    assert plan["measures"][0]["error95"] is None


def test_the_kind_of_an_interval_is_sent_in_plans_answers_and_files(server: Server) -> None:
    having = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 1"
    with server.client() as client:
        plan = client.post("/api/plan", json={"sql": having}).json()
        answer = client.post("/api/ask", json={"sql": having}).json()
        file = client.post("/api/ask", params={"format": "csv"}, json={"sql": having})
    assert plan["measures"][0]["interval_kind"] == "all_rows"
    assert answer["interval_kind"] == {"n": "all_rows"}
    assert json.loads(file.headers["Discreet-Facts"])["interval_kind"] == {"n": "all_rows"}


def test_an_answer_is_the_same_in_every_form(server: Server) -> None:
    with server.client() as client:
        told = {
            form: client.post("/api/ask", params={"format": form}, json={"sql": GROUPED})
            for form in ("json", "csv", "arrow", "parquet")
        }
    assert server.charges() == 1
    answer = told["json"].json()
    tables = {
        "csv": pyarrow.csv.read_csv(io.BytesIO(told["csv"].content)),
        "arrow": pa.ipc.open_stream(told["arrow"].content).read_all(),
        "parquet": pq.read_table(io.BytesIO(told["parquet"].content)),
    }
    for form, table in tables.items():
        assert table.column_names == ["sex", "n", "n.low", "n.high", "h", "h.low", "h.high"]
        assert table.select(["sex", "n", "h"]).to_pylist() == [
            dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]
        ]
        facts = json.loads(told[form].headers["discreet-facts"])
        assert (facts["entry"], facts["epsilon"]) == (answer["entry"], 0)  # the other forms are free
    assert json.loads(tables["parquet"].schema.metadata[b"discreet"])["entry"] == answer["entry"]


def test_a_retried_request_is_charged_once_and_answered_with_the_same_bytes(server: Server) -> None:
    body, key = {"sql": COUNT, "epsilon": 0.1}, {"Idempotency-Key": "7f3a"}
    found: list[bytes] = []

    def ask() -> None:
        with server.client() as client:
            found.append(client.post("/api/ask", json=body, headers=key).content)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1
    assert json.loads(found[0])["repeated"] is False
    assert server.charges() == 1
    with server.client() as client:
        other = client.post("/api/ask", json=body | {"epsilon": 0.3}, headers=key)
        assert (other.status_code, other.json()["code"]) == (400, "refused")
        assert "another request" in other.json()["error"]
    with server.client("bob") as client:
        assert client.post("/api/ask", json=body, headers=key).json()["repeated"] is False
    assert server.charges("bob") == 1


def test_the_answer_to_a_client_that_hung_up_is_kept_under_its_key(server: Server) -> None:
    begun, let = threading.Event(), threading.Event()
    slowed(server.curators, "alice", lambda: begun.set() or let.wait(PATIENCE))  # type: ignore[func-returns-value]
    body, key = {"sql": COUNT, "epsilon": 0.1}, {"Idempotency-Key": "7f3a"}
    with server.client() as client:
        request = client.build_request("POST", "/api/ask", json=body, headers=key)
        with socket.create_connection((request.url.host, request.url.port or 0)) as line:
            head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
            line.sendall(f"POST /api/ask HTTP/1.1\r\n{head}\r\n".encode() + request.content)
            assert begun.wait(PATIENCE)
        let.set()
        told = [client.post("/api/ask", json=body, headers=key) for _ in range(2)]
    assert {each.status_code for each in told} == {200}
    assert told[0].content == told[1].content
    (entry,) = server.curators.ledger.list_entries("alice")
    assert entry.state is EntryState.SETTLED
    with server.curators.take_turn("alice") as curator:
        free = curator.ask(COUNT, free=True)
    assert free.rows == told[0].json()["rows"]


def test_a_refused_question_leaves_its_key_free(server: Server) -> None:
    key = {"Idempotency-Key": "k"}
    with server.client() as client:
        for _ in range(2):
            told = client.post("/api/ask", json={"sql": "SELECT town FROM people"}, headers=key)
            assert told.status_code == 400
            assert "Idempotency" not in told.text
    assert server.charges() == 0


@pytest.mark.parametrize("verb", ["ask", "plan"])
def test_a_refusal_begins_with_the_verb_of_its_route(server: Server, verb: str) -> None:
    with server.client() as client:
        told = client.post(f"/api/{verb}", json={"sql": "SELECT town FROM people"}).json()
    assert told["error"].startswith(f"{verb}: ")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"epsilon": 1}, "`sql` is missing."),
        ({"sql": COUNT, "raw": "perhaps"}, "`raw` must be true or false."),
        ({"sql": COUNT, "shares": 1}, "There is no field shares."),
        ({"sql": ""}, "`sql` must be given."),
    ],
)
def test_a_wrong_field_is_refused_in_one_sentence(
    long_lived: Server, body: dict[str, object], sentence: str
) -> None:
    with long_lived.client() as client:
        told = client.post("/api/ask", json=body)
    assert told.status_code == 422
    assert told.json()["error"] == sentence


def test_a_question_that_does_not_fit_is_refused_with_the_own_share_alone(server: Server) -> None:
    with server.client() as client:
        told = client.post("/api/ask", json={"sql": COUNT, "epsilon": 1})
        assert (told.status_code, told.json()["code"]) == (402, "budget")
        assert "left to alice" in told.json()["error"]
        assert told.json()["hint"].startswith("What would still fit: `epsilon` 0.8")
        plan = client.post("/api/plan", json={"sql": COUNT, "epsilon": 1}).json()
        assert plan["fits"] is False
    assert server.charges() == 0


def test_who_has_spent_everything_is_told_so_at_both_listeners(server: Server) -> None:
    left = server.curators.ledger.get_remaining_budget("alice")
    assert isinstance(left, PureDP)
    nearly = PureDP(epsilon=Fraction(left.epsilon) * (1 - Fraction(1, 10**12)))
    server.curators.ledger.reserve("alice", "key", "everything", nearly)
    with server.client() as client:
        told = client.post("/api/ask", json={"sql": COUNT, "epsilon": 0.1}).json()
        assert "nothing is left to alice, of a share of epsilon 0.8" in told["error"]
        assert "larger share" in told["hint"]
        assert client.get("/api/ledger").json()["left"] == 0
    address = f"host=127.0.0.1 port={server.postgres} user=alice password='{PASSWORD}' dbname=discreet"
    with psycopg.connect(address) as connection:
        assert connection.execute("SHOW discreet.left").fetchone() == ("nothing",)
        with pytest.raises(psycopg.Error, match="nothing is left to alice"):
            connection.execute(COUNT)


def test_a_dummy_answer_is_free_and_looks_like_the_real_one(server: Server) -> None:
    questions = (
        GROUPED,
        "SELECT SUM(cost) AS s FROM people JOIN visits ON people.id = visits.person WHERE age > 30",
        "SELECT MEDIAN(age) AS m FROM people WHERE born > DATE '1980-01-01' AND smoker",
    )
    with server.client() as client:
        for sql in questions:
            dummy = client.post("/api/dummy", json={"sql": sql, "epsilon": 0.5}).json()
            assert dummy["dummy"] is True
            assert "made up" in dummy["sentence"]
        assert server.charges() == 0
        real = client.post("/api/ask", json={"sql": GROUPED, "epsilon": 0.5}).json()
        dummy = client.post("/api/dummy", json={"sql": GROUPED, "epsilon": 0.5}).json()
    assert (dummy["columns"], dummy["epsilon"]) == (real["columns"], real["epsilon"])
    assert [row[0] for row in dummy["rows"]] == [row[0] for row in real["rows"]]


def test_a_dummy_never_runs_out_of_budget_and_is_refused_what_the_policy_refuses(server: Server) -> None:
    with server.client() as client:
        for _ in range(20):
            assert client.post("/api/dummy", json={"sql": COUNT, "epsilon": 1}).status_code == 200
        assert client.post("/api/dummy", json={"sql": "SELECT town FROM people"}).status_code == 400
        assert client.get("/api/ledger").json()["spent"] == 0


def test_what_was_released_is_free_and_the_request_says_whether_it_is_used(server: Server) -> None:
    with server.client() as client:

        def ask(**fields: object) -> tuple[object, ...]:
            found = client.post("/api/ask", json={"sql": COUNT, **fields}).json()
            return found["epsilon"], found["entries"]

        refused = client.post("/api/ask", json={"sql": COUNT, "free": True})
        assert (refused.status_code, refused.json()["code"], server.charges()) == (400, "refused", 0)
        assert ask(epsilon=0.05) == (0.05, [1])
        assert ask(epsilon=0.04) == (0, [1])
        (free, paid) = client.post("/api/plan", json={"sql": COUNT, "epsilon": 0.06}).json()["offers"]
        assert (free["epsilon"], free["entries"], paid["epsilon"], paid["entries"]) == (0, [1], 0.06, [1])
        assert free["error95"] > paid["error95"]
        assert ask(epsilon=0.04, fresh=True) == (0.04, [2])
        assert ask(epsilon=0.06) == (0.06, [1, 2, 3])
        assert ask(free=True) == (0, [1, 2, 3])
    assert server.charges() == 3


def test_the_console_shows_entries_and_pays_for_a_fresh_answer_once(server: Server) -> None:
    with server.client() as client:

        def submit(do: str, amount: str, released: str = "") -> str:
            fields = {"sql": COUNT, "way": "epsilon", "amount": amount, "released": released, "do": do}
            return client.post("/ask", data=fields | {"csrf": client.headers[CSRF_HEADER]}).text

        assert "is not free" in submit("ask", "0.05", "free")
        assert "epsilon 0.05 (entry 1)" in submit("ask", "0.05")
        assert "nothing: everything that it needs was released before (entry 1)" in submit("plan", "0.04")
        offered = submit("plan", "0.06")
        assert "combined with what was released before (entry 1)" in offered
        assert "<dt>or free</dt><dd>n ± 60 (entry 1)</dd>" in offered
        again = submit("ask", "0.04", "fresh")
        assert "epsilon 0.04 (entry 2)" in again
        assert '<option value="fresh" selected>' not in again
        submit("csv", "0.04", "fresh")
        assert server.charges() == 2
        assert "released before (entries 1, 2)" in submit("ask", "0.04", "free")
    assert server.charges() == 2


def test_both_listeners_ask_the_same_curator(server: Server) -> None:
    with server.client() as client:
        answer = client.post("/api/ask", json={"sql": COUNT}).json()
    address = {"host": "127.0.0.1", "port": server.postgres, "user": "alice", "password": PASSWORD}
    with psycopg.connect(**address, dbname="discreet") as connection:  # type: ignore[arg-type]
        assert connection.execute(COUNT).fetchone() == (answer["rows"][0][0],)
    assert server.charges() == 1


def test_too_many_questions_at_once_are_told_to_wait(server: Server) -> None:
    refused = threading.Event()  # until then nobody is answered, and who asks waits
    slowed(server.curators, "alice", lambda: refused.wait(PATIENCE))
    codes: list[int] = []

    def ask(number: int) -> None:
        with server.client() as client:
            body = {"sql": f"SELECT COUNT(*) FROM people WHERE age > {number}", "epsilon": 0.01}
            codes.append(client.post("/api/ask", json=body).status_code)
            if codes[-1] == 429:
                refused.set()

    threads = [threading.Thread(target=ask, args=(20 + number,)) for number in range(14)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) == {200, 429}
    assert server.charges() == codes.count(200)


@pytest.mark.parametrize("path", ["/api/plan", "/api/ask", "/api/dummy"])
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"sql": ""},
        {"sql": COUNT, "more": 1},
        {"sql": COUNT, "epsilon": -1},
        {"sql": COUNT, "epsilon": "NaN"},
        {"sql": COUNT, "confidence": 1},
        {"sql": COUNT, "within": "much"},
        {"sql": "\ud800"},
        [],
        None,
    ],
)
def test_what_cannot_be_read_is_refused_by_the_name_of_its_place(
    long_lived: Server, path: str, body: object
) -> None:
    with long_lived.client() as client:
        content = json.dumps(body)
        told = client.post(path, content=content, headers={"content-type": "application/json"})
    assert told.status_code == 422
    assert told.json()["code"] == "invalid-parameter"
    assert set(told.json()) == {"error", "code", "hint"}


def test_a_list_of_questions_is_planned_for_one_price(server: Server) -> None:
    question = {"sql": COUNT, "epsilon": 0.2}
    with server.client() as client:
        plan = client.post("/api/plan", json=[question, question, {"sql": GROUPED, "epsilon": 0.1}]).json()
        wrong = client.post("/api/plan", json=[question, {"sql": "SELECT * FROM people", "epsilon": 0.2}])
        empty = client.post("/api/plan", json=[])
        odd = client.post("/api/plan", json=[{"sql": COUNT, "epsilon": "much"}])
    assert plan["epsilon"] == pytest.approx(0.3)
    assert [each["epsilon"] for each in plan["statements"]] == pytest.approx([0.2, 0, 0.1])
    assert (wrong.status_code, empty.status_code, odd.status_code) == (400, 422, 422)
    assert "statement 2" in wrong.json()["error"]
    assert server.charges() == 0
