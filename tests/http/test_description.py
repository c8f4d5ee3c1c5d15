"""/api/openapi.json: every route says what it does and how it refuses; metrics and dummies say no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.http.http_errors import STATUS_BY_CODE
from discreet.http.responses import name_fields
from tests.http.served import COUNT, Server, both_listeners
from tests.pgwire.served import write_data

PATHS = ("/api/ask", "/api/dummy")
NAMING = (("post", "/api/jobs"), ("post", "/api/attacks"))
"""Routes whose bodies name something that may not be there."""
QUESTIONS = (
    "SELECT sex, smoker, COUNT(*) AS n, AVG(height) AS h FROM people GROUP BY sex, smoker ORDER BY sex",
    "SELECT MEDIAN(age) AS m, SUM(age) AS s FROM people",
    "SELECT SUM(cost) AS s FROM people JOIN visits ON people.id = visits.person WHERE age > 30",
    "SELECT COUNT(DISTINCT age) AS ages FROM people WHERE born > DATE '1980-01-01' AND smoker",
)


def test_every_route_has_a_summary_and_describes_its_answers_and_refusals(long_lived: Server) -> None:
    with long_lived.client() as client:
        described = client.get("/api/openapi.json").json()
    operations = [
        (method, path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) >= 28
    for method, path, operation in operations:
        told = operation["responses"]
        assert len(operation["summary"].split()) >= 2, path
        assert operation["summary"] == operation["description"].split(". ")[0].split("\n")[0].rstrip(".")
        assert any(status.startswith("2") for status in told), (method, path)
        assert {"400", "401", "403", "422", "429", "500"} <= set(told), (method, path)
        names = re.match("/api/(jobs|releases)/{", path) or (method, path) in NAMING
        assert ("404" in told) == bool(names), (method, path)
        for status, each in told.items():
            assert each["description"].split() != [status]
            if not status.startswith("2"):
                schema = each["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}, (path, status)
    refusals = {status for _, _, each in operations for status in each["responses"] if status >= "400"}
    assert refusals | {"405"} == {str(status) for status in STATUS_BY_CODE.values()}


def test_texts_name_fields_and_not_python_arguments(long_lived: Server) -> None:
    assert name_fields('Give `within="2%"` or `epsilon=`.') == 'Give `within` "2%" or `epsilon`.'
    with long_lived.client() as client:
        described = client.get("/api/openapi.json")
        told = client.post("/api/plan", json={"sql": COUNT, "epsilon": "much"}).json()
    fields = described.json()["components"]["schemas"]["QuestionBody"]["properties"]
    assert fields["share"]["description"].startswith("Instead of `epsilon`: ")
    assert not re.search("`[a-z_]+=", described.text)
    assert told["error"] == "`epsilon` must be a finite number such as 0.5; got much."


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Two servers whose data differ in everything that a policy does not say."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(both_listeners(_folder(tmp_path_factory.mktemp("metrics"), people)))
            for people in (3_000, 700)
        ]


def _folder(folder: Path, people: int) -> Path:
    write_data(folder, people)
    return folder


def test_metrics_are_the_same_whatever_the_data(neighbours: list[Server]) -> None:
    said = []
    for server in neighbours:
        with server.client() as alice, server.client("audrey") as audrey:
            for sql in (COUNT, "SELECT town, COUNT(*) FROM people GROUP BY town", "SELECT town FROM people"):
                alice.post("/api/ask", json={"sql": sql, "epsilon": 0.05})
            alice.post("/api/dummy", json={"sql": COUNT})
            alice.get("/api/jobs/x")
            said.append(audrey.get("/api/metrics").text)
    assert said[0] == said[1]
    labels = set(re.findall(r'(\w+)="', said[0]))
    assert labels == {"method", "outcome", "route", "status"}
    assert not re.search("alice|people|town|canary|duration|seconds", said[0])


def _names(said: object) -> object:
    """The names of an object and of those in it."""
    return {each: _names(value) for each, value in said.items()} if isinstance(said, dict) else None


def test_a_dummy_answer_has_the_shape_of_the_real_one(neighbours: list[Server]) -> None:
    with neighbours[0].client("bob") as client:
        for sql in QUESTIONS:
            body = {"sql": sql, "epsilon": 0.1}
            real, dummy = (client.post(path, json=body).json() for path in PATHS)
            assert dummy.pop("dummy") is True
            assert (dummy["entry"], dummy["belief"]) == (None, None)  # nothing was charged
            real["belief"] = None
            assert _names(real) == _names(dummy), sql
            assert (real["columns"], len(real["rows"])) == (dummy["columns"], len(dummy["rows"]))
            files = [client.post(path, params={"format": "arrow"}, json=body) for path in PATHS]
            assert files[0].headers.keys() == files[1].headers.keys()
            schemas = [pa.ipc.open_stream(each.content).schema for each in files]
            assert schemas[0].equals(schemas[1], check_metadata=False), sql
