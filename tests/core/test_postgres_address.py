"""Addresses of PostgreSQL: what libpq reads of them once the search path is pinned."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from discreet.core.errors import RequestError
from discreet.core.postgres_address import find_named_schema, pin_search_path

PLACE = "postgresql://ann:sec?ret@db.example:5433,other:5434/shop"
PINNED = "-csearch_path=pg_catalog,pg_temp"


@pytest.fixture(autouse=True)
def no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGOPTIONS", raising=False)


@pytest.mark.parametrize(
    ("query", "options", "schema"),
    [
        ("", PINNED, None),
        ("?sslmode=require", PINNED, None),
        ("?options=-csearch_path%3Done", PINNED, "one"),
        ("?options=-c%20Search-Path%3DOne%2Cpublic", PINNED, "one"),
        (r"?options=--search_path%3D%22One%5C%20Two%22", PINNED, "One Two"),
        ("?options=-csearch_path%3D%22%24user%22", PINNED, None),
        ("?options=-csearch_path%3Done%20-csearch_path%3Dtwo", PINNED, "two"),
        ("?options=-csearch_path%3Done&options=-cjit%3Doff", f"-cjit=off {PINNED}", None),
        ("?%6Fptions=-cjit%3Doff&sslmode=require", f"-cjit=off {PINNED}", None),
        (r"?options=-capplication_name%3Da%5C%20b%5C%5C", rf"-capplication_name=a\ b\\ {PINNED}", None),
    ],
)
def test_the_search_path_is_pinned_and_the_rest_is_kept(query: str, options: str, schema: str | None) -> None:
    before, after = (conninfo_to_dict(each) for each in (PLACE + query, pin_search_path(PLACE + query)))
    assert after == before | {"options": options, "client_encoding": "UTF8"}
    assert find_named_schema(PLACE + query) == schema


@pytest.mark.parametrize(
    "query",
    ["", "?client_encoding=LATIN1", "?client%5Fencoding=LATIN1", "?options=-cClient-Encoding%3DLATIN1"],
)
def test_texts_are_sent_in_an_encoding_that_has_all_of_them(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    found = conninfo_to_dict(pin_search_path(PLACE + query))
    assert (found["client_encoding"], found["options"]) == ("UTF8", PINNED)


def test_options_of_the_environment_count_where_an_address_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-csearch_path=one -cjit=off")
    assert find_named_schema(PLACE) == "one"
    assert conninfo_to_dict(pin_search_path(PLACE))["options"] == f"-cjit=off {PINNED}"
    assert find_named_schema(f"{PLACE}?options=-cjit%3Don") is None


@pytest.mark.parametrize(
    "options", ["-c", "-d%205", "jit=off", "-cjit", "-c%20-d", "-csearch_path%3D%22One%20Two%22"]
)
def test_options_that_set_no_parameter_are_refused(options: str) -> None:
    with pytest.raises(RequestError, match="can only set parameters"):
        pin_search_path(f"{PLACE}?options={options}")
