"""Who may do what: logins, sessions, tokens, roles, and what each is shown."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from discreet.http.authentication import SESSION_COOKIE
from discreet.services.users import Role
from tests.http.served import COUNT, Server
from tests.pgwire.served import PASSWORD

QUESTION = {"sql": COUNT}
ROUTES: list[tuple[str, str, object, str]] = [
    ("GET", "/api/session", None, "cab*"),
    ("GET", "/api/policy", None, "cab*"),
    ("GET", "/api/ledger", None, "cab*"),
    ("GET", "/api/belief", None, "cab*"),
    ("GET", "/api/releases", None, "cab*"),
    ("GET", "/api/tokens", None, "cab*"),
    ("GET", "/api/budget-requests", None, "cab*"),
    ("POST", "/api/plan", QUESTION, "b"),
    ("POST", "/api/ask", QUESTION, "b"),
    ("POST", "/api/dummy", QUESTION, "b"),
    ("GET", "/api/metrics", None, "ca"),
    ("POST", "/api/budget-requests", {"share": 0.01}, "b"),
    ("POST", "/api/analysts/bob/clear", None, "c"),
    ("GET", "/api/jobs", None, "c"),
]
LETTERS = {"carl": "c", "audrey": "a", "bob": "b"}


@pytest.mark.parametrize("user", LETTERS)
def test_everybody_may_do_what_the_role_is_for_and_nothing_else(server: Server, user: str) -> None:
    with server.client(user) as client:
        for method, path, body, letters in ROUTES:
            told = client.request(method, path, json=body)
            may = LETTERS[user] in letters
            assert (told.status_code < 300) == may, (user, path, told.text)
            if not may:
                assert (told.status_code, told.json()["code"]) == (403, "forbidden")


def test_strangers_and_forged_sessions_are_told_to_log_in(server: Server) -> None:
    with server.client(None) as client:
        for forged in (None, "x", "eyJ.x", "." * 100):
            for method, path, body, _ in ROUTES:
                cookies = {} if forged is None else {"cookie": f"{SESSION_COOKIE}={forged}"}
                told = client.request(method, path, json=body, headers=cookies)
                assert (told.status_code, told.json()["code"]) == (401, "login"), path
        told = client.get("/api/ledger", headers={"authorization": "Bearer discreet_x"})
        assert told.status_code == 401


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(server: Server) -> None:
    with server.client(None) as client:
        told = client.post("/api/login", json={"name": "alice", "password": PASSWORD})
        cookie = told.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert told.json() | {"csrf": ""} == {
            "user": "alice",
            "role": "analyst",
            "analyst": "alice",
            "once": False,
            "csrf": "",
        }
        for wrong in ([], [(b"x-csrf-token", b"0" * 64)], [(b"x-csrf-token", b"\xe9")]):
            refused = client.post("/api/ask", json=QUESTION, headers=wrong)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert server.charges() == 0
        proof = {"X-CSRF-Token": told.json()["csrf"]}
        assert client.post("/api/ask", json=QUESTION, headers=proof).status_code == 200
        text = client.cookies[SESSION_COOKIE]
        assert client.post("/api/logout", headers=proof).json() == {"ended": True}
        assert client.get("/api/session").status_code == 401
        assert client.get("/api/session", headers={"cookie": f"{SESSION_COOKIE}={text}"}).status_code == 401


def test_guessing_is_throttled_and_names_are_not_told(server: Server) -> None:
    with server.client(None) as client:
        said = {}
        for name in ("alice", "nobody"):
            tries = [client.post("/api/login", json={"name": name, "password": "guess"}) for _ in range(7)]
            said[name] = [(each.status_code, each.text) for each in tries[:6]]
            assert [each.status_code for each in tries[:5]] == [401] * 5
            assert tries[5].status_code == 429
            assert int(tries[5].headers["retry-after"]) >= 1
        assert said["alice"] == said["nobody"]
        right = client.post("/api/login", json={"name": "alice", "password": PASSWORD})
        assert right.status_code == 429
        other = client.post("/api/login", json={"name": "bob", "password": PASSWORD})
        assert other.status_code == 200


def test_a_token_asks_and_neither_makes_tokens_nor_passwords(server: Server) -> None:
    with server.client() as client:
        made = client.post("/api/tokens", json={"label": "notebook"}).json()
        listed = client.get("/api/tokens").text
        assert made["id"] in listed
        assert made["token"] not in listed
    with server.client(None) as program:
        program.headers["authorization"] = f"Bearer {made['token']}"
        assert program.post("/api/ask", json=QUESTION).status_code == 200
        for path, body in (
            ("/api/tokens", {"label": "more"}),
            ("/api/password", {"old": PASSWORD, "new": "x" * 20}),
            ("/api/logout", None),
        ):
            assert program.post(path, json=body).status_code == 403
        with server.client() as client:
            assert client.delete(f"/api/tokens/{made['id']}").status_code == 200
        assert program.post("/api/ask", json=QUESTION).status_code == 401


def test_tokens_expire_and_end_with_another_password(server: Server) -> None:
    with server.client() as client:
        for days in (0, 367, "soon"):
            assert client.post("/api/tokens", json={"label": "x", "days": days}).status_code == 422
        made = client.post("/api/tokens", json={"label": "notebook", "days": 7}).json()
        (listed,) = client.get("/api/tokens").json()["tokens"]
        begun, ends = (dt.datetime.fromisoformat(listed[name]) for name in ("made", "expires"))
        assert ends - begun == dt.timedelta(days=7)
        asked = {"authorization": f"Bearer {made['token']}"}
        with server.client(None) as program:
            assert program.get("/api/session", headers=asked).status_code == 200
            expired = {"id": made["id"], "now": "2020-01-01T00:00:00+00:00"}
            with server.users.storage.write_transaction() as rows:
                rows.execute("UPDATE token SET expires = :now WHERE id = :id", expired)
            unknown = program.get("/api/session", headers={"authorization": "Bearer discreet_x"})
            gone = program.get("/api/session", headers=asked)
            assert (gone.status_code, gone.content) == (unknown.status_code, unknown.content)
            made = client.post("/api/tokens", json={"label": "notebook"}).json()
            asked = {"authorization": f"Bearer {made['token']}"}
            assert program.get("/api/session", headers=asked).status_code == 200
            body = {"old": PASSWORD, "new": "another good password"}
            assert client.post("/api/password", json=body).status_code == 200
            gone = program.get("/api/session", headers=asked)
            assert (gone.status_code, gone.content) == (401, unknown.content)


def test_who_is_removed_is_out_at_once(server: Server) -> None:
    with server.client() as client:
        assert client.get("/api/session").status_code == 200
        server.users.remove("alice")
        assert client.get("/api/session").status_code == 401


def test_a_password_for_one_login_opens_nothing_else(server: Server) -> None:
    first = server.users.add("carol", Role.CUSTODIAN, None, must_change_password=True)
    with server.client("carol") as client:
        for method, path, body, _ in ROUTES:
            told = client.request(method, path, json=body)
            if path != "/api/session":
                assert (told.status_code, told.json()["code"]) == (403, "password"), path
        for old, new, status in ((first, "short", 400), ("wrong", "x" * 20, 401), (first, first, 400)):
            told = client.post("/api/password", json={"old": old, "new": new})
            assert told.status_code == status, told.text
        told = client.post("/api/password", json={"old": first, "new": "a longer password"})
        assert told.json()["once"] is False
        assert client.get("/api/metrics").status_code == 200


def test_an_analyst_reads_the_own_ledger_and_nothing_of_others(server: Server) -> None:
    with server.client("bob") as bob:
        before = [bob.get(path).content for path in ("/api/ledger", "/api/belief", "/api/policy")]
        with server.client() as alice:
            asked = alice.post("/api/ask", json=QUESTION).json()
            own = alice.get("/api/ledger").json()
        assert [bob.get(path).content for path in ("/api/ledger", "/api/belief", "/api/policy")] == before
    assert [each["question"] for each in own["entries"]] == [COUNT]
    assert own["belief"]["posterior"] == asked["belief"]["posterior"]
    assert list(own["analysts"]) == ["alice"]
    for user in ("audrey", "carl"):
        with server.client(user) as client:
            whole = client.get("/api/ledger").json()
            assert len(whole["entries"]) == 1
            assert set(whole["analysts"]) == {"alice", "bob"}
            assert client.get("/api/belief").json()["posterior"] == asked["belief"]["posterior"]


def test_files_and_addresses_of_the_policy_are_the_custodians(server: Server) -> None:
    def policy(user: str) -> dict[str, Any]:
        with server.client(user) as client:
            found: dict[str, Any] = client.get("/api/policy").json()
            return found

    for user in ("alice", "audrey"):
        assert str(server.folder) not in str(policy(user))
        assert policy(user)["tables"]["people"]["columns"]["age"] == {
            "type": "integer",
            "role": "other",
            "low": 18,
            "high": 90,
            "nulls": False,
        }
    assert policy("alice")["analysts"] == {"alice": {"share": 0.5}}
    assert policy("carl")["tables"]["people"]["source"] == str(server.folder / "people.parquet")


def test_releases_are_listed_with_their_certificates(server: Server) -> None:
    certificate = {"kind": "recoded table", "models": ["k"], "path": "/secret/place.parquet", "inner": None}
    server.curators.ledger.record_release("place.parquet", "people, 5-anonymity", certificate)
    for user, shown in (("alice", False), ("audrey", False), ("carl", True)):
        with server.client(user) as client:
            (release,) = client.get("/api/releases").json()["releases"]
            assert client.get(f"/api/releases/{release['id']}").json() == release
            assert client.get("/api/releases/99").status_code == 404
            assert release["certificate"]["models"] == ["k"]
            for path in ("/api/releases", "/api/ledger"):
                assert ("/secret" in client.get(path).text) == shown


def test_every_release_is_certified_and_an_analyst_reads_the_own_ones_alone(server: Server) -> None:
    server.curators.ledger.record_release("place.parquet", "people, 5-anonymity", {"kind": "recoded table"})
    with server.client() as alice, server.client("bob") as bob:
        for client, epsilon in ((alice, 0.1), (bob, 0.2), (alice, 0.3)):
            assert client.post("/api/ask", json={"sql": COUNT, "epsilon": epsilon}).status_code == 200
    seen: dict[str, list[dict[str, Any]]] = {}
    for user in ("alice", "bob", "audrey", "carl"):
        with server.client(user) as client:
            seen[user] = client.get("/api/releases").json()["releases"]
            for each in seen[user]:
                place = f"{each['analyst']}/{each['id']}" if each["private"] else each["id"]
                assert client.get(f"/api/releases/{place}").json() == each
            newest = client.get("/api/releases", params={"last": 1}).json()
            assert (newest["releases"], newest["all"]) == (seen[user][-1:], len(seen[user]))
    own = {
        user: [(each["analyst"], each["id"]) for each in found if each["private"]]
        for user, found in seen.items()
    }
    assert own["alice"] == [("alice", 1), ("alice", 2)]
    assert own["bob"] == [("bob", 1)]
    assert sorted(own["audrey"]) == sorted(own["carl"]) == [("alice", 1), ("alice", 2), ("bob", 1)]
    assert {user: len(found) - len(own[user]) for user, found in seen.items()} == dict.fromkeys(seen, 1)
    certificate = seen["bob"][-1]["certificate"]
    assert certificate["kind"] == "differentially private answer"
    assert (certificate["question"], certificate["epsilon"]) == (COUNT, 0.2)
    assert 0.01 < certificate["belief"]["posterior"] < 0.05
    with server.client("bob") as bob:
        told = [bob.get(f"/api/releases/alice/{number}") for number in (1, 2, 3)]
    assert {(each.status_code, each.text) for each in told} == {(404, told[0].text)}


@pytest.mark.parametrize("comment", ["-- synthesize\n", "/* tabulate */ ", "\n\t"])
def test_a_question_is_certified_as_an_answer_whatever_stands_before_it(server: Server, comment: str) -> None:
    with server.client() as alice:
        assert alice.post("/api/ask", json={"sql": comment + COUNT}).status_code == 200
        assert alice.get("/api/releases/alice/1").json()["kind"] == "answer"
        assert alice.get("/api/releases/alice/1/rows").status_code == 400


def test_the_custodian_grants_a_request_out_of_anothers_share_and_it_holds(server: Server) -> None:
    with server.client() as alice, server.client("carl") as carl, server.client("bob") as bob:
        big = {"sql": COUNT, "epsilon": 1}
        assert alice.post("/api/ask", json=big).status_code == 402
        for share in (0.2, 0.1):
            made = alice.post("/api/budget-requests", json={"share": share, "reason": "regions"}).json()
            assert made["state"] == "open"
        assert bob.get("/api/budget-requests").json() == {"budget_requests": []}
        assert alice.post("/api/budget-requests/1/grant", json={}).status_code == 403
        assert carl.post("/api/budget-requests/1/grant", json={}).status_code == 400
        granted = carl.post("/api/budget-requests/1/grant", json={"taken_from": "bob"})
        assert granted.json()["state"] == "granted", granted.text
        assert (
            carl.post("/api/budget-requests/2/deny", json={"note": "next year"}).json()["state"] == "denied"
        )
        assert [each["state"] for each in alice.get("/api/budget-requests").json()["budget_requests"]] == [
            "granted",
            "denied",
        ]
        assert alice.post("/api/ask", json=big).status_code == 200
        assert bob.get("/api/policy").json()["analysts"] == {"bob": {"share": 0.3}}
        assert carl.post("/api/budget-requests", json={"share": 0.1}).status_code == 403


def test_metrics_count_requests_by_routes_and_outcomes(server: Server) -> None:
    with server.client() as alice, server.client("audrey") as audrey:
        alice.post("/api/ask", json=QUESTION)
        alice.post("/api/ask", json={"sql": "SELECT town FROM people"})
        alice.post("/api/ask", json={"sql": COUNT, "epsilon": 1})
        alice.get("/nowhere")
        text = audrey.get("/api/metrics").text
    for line in (
        'discreet_questions_total{outcome="answered"} 1',
        'discreet_questions_total{outcome="refused"} 1',
        'discreet_questions_total{outcome="budget"} 1',
        'discreet_requests_total{method="POST",route="/api/ask",status="200"} 1',
        'discreet_requests_total{method="GET",route="other",status="404"} 1',
        "discreet_ledger_spent 0.1",
    ):
        assert line in text
    assert "alice" not in text


def test_every_reply_has_the_headers_that_browsers_are_guarded_by(server: Server) -> None:
    with server.client(None) as client:
        for path in ("/api/session", "/nowhere", "/api/openapi.json"):
            headers = client.get(path).headers
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert "server" not in headers


def test_a_body_that_is_too_long_is_refused(server: Server) -> None:
    with server.client() as client:
        sent = client.post("/api/ask", content=b'{"sql": "' + b"x" * 10**6 + b'"}')
        assert (sent.status_code, sent.json()["code"]) == (413, "too-long")
