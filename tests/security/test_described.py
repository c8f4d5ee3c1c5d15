"""What the OpenAPI description allows and what it forbids, drawn by schemathesis: answered or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance

from tests.http.served import Server
from tests.patience import PATIENCE
from tests.pgwire.served import CANARY

UNCHANGED = ("/api/login", "/api/password", "/api/logout")
"""What would end the session that everything else is sent with."""
LOOSE = settings(max_examples=40, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def session(fuzzed: Server) -> Iterator[requests.Session]:
    """Alice's."""
    with fuzzed.client() as client, requests.Session() as found:
        found.trust_env = False
        found.headers["X-CSRF-Token"] = client.headers["X-CSRF-Token"]
        found.cookies.update(dict(client.cookies))
        yield found


Cases = st.SearchStrategy[Any]


@pytest.fixture(scope="module")
def cases(fuzzed: Server, session: requests.Session) -> list[Cases]:
    """One for each operation and mode; nothing can be wrong with an operation that takes nothing."""
    described = session.get(f"{fuzzed.url}/api/openapi.json").json()
    found = []
    for each in schemathesis.openapi.from_dict(described).get_all_operations():
        assert isinstance(each, Ok)
        operation = each.ok()
        if operation.path in UNCHANGED:
            continue
        takes = [*operation.path_parameters, *operation.query, *operation.body]
        modes = list(GenerationMode) if takes else [GenerationMode.POSITIVE]
        found += [operation.as_strategy(generation_mode=mode) for mode in modes]
    return found


def test_whatever_the_description_allows_or_forbids_is_answered_or_refused(
    fuzzed: Server,
    session: requests.Session,
    cases: list[Cases],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    seen = set()

    @LOOSE
    @given(st.data())
    def send(data: st.DataObject) -> None:
        case = data.draw(data.draw(st.sampled_from(cases)))
        told = case.call(base_url=fuzzed.url, session=session, timeout=PATIENCE)
        case.validate_response(told, checks=[not_a_server_error, response_schema_conformance])
        seen.add(told.status_code)
        described = case.operation.definition.raw["responses"]
        assert told.status_code in (404, 405) or str(told.status_code) in described
        if told.status_code >= 400:
            assert set(json.loads(told.content)) == {"error", "code", "hint"}
        everything = told.content.decode(errors="replace") + caplog.text + "".join(capfd.readouterr())
        assert "Traceback" not in everything
        assert CANARY not in everything

    send()
    assert len(seen) > 1


def test_nothing_of_the_data_is_left_in_metrics_logs_and_ledger(fuzzed: Server) -> None:
    with fuzzed.client("carl") as custodian:
        for path in ("/api/metrics", "/api/ledger", "/api/jobs"):
            assert CANARY not in custodian.get(path).text
    beside = [each for each in fuzzed.folder.iterdir() if each.name.startswith("ledger") and each.is_file()]
    files = [each for each in beside if each.suffix != ".log"]  # which is the custodian's
    assert files
    assert [each.name for each in files if CANARY.encode() in each.read_bytes()] == []
    fuzzed.curators.ledger.verify()
