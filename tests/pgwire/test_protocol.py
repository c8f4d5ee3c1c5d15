"""The protocol byte by byte: login, describing, executing, portals, cancelling, and whatever is malformed."""

from __future__ import annotations

import datetime as dt
import logging
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.pgwire.postgres_types import PostgresType, decode_parameter, get_encoder
from discreet.pgwire.utility_commands import split_statements
from discreet.pgwire.wire_errors import WireError
from tests.pgwire.raw_messages import (
    FLUSH,
    SYNC,
    TERMINATE,
    Bytes,
    bind,
    describe,
    execute,
    fields,
    kinds,
    packed,
    parse,
    query,
    startup,
    states,
)
from tests.pgwire.served import CANARY, PASSWORD, Served

KINDS = {
    dt.date: PostgresType.DATE,
    dt.datetime: PostgresType.TIMESTAMP,
    bool: PostgresType.BOOLEAN,
    int: PostgresType.BIGINT,
}
COUNT = "SELECT COUNT(*) AS n FROM people"
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
TLS, GSS, CANCEL = 80877103, 80877104, 80877102


@pytest.fixture
def client(server: Served) -> Iterator[Bytes]:
    with Bytes(server.port) as line:
        line.login(PASSWORD)
        yield line


# -- Login --------------------------------------------------------------------------------------------------


def test_a_login_ends_with_settings_a_key_and_a_prompt(server: Served) -> None:
    with Bytes(server.port) as line:
        said = line.login(PASSWORD)
    assert said[0][1][:4] == struct.pack(">i", 12)
    assert said[0][1][4:].startswith(b"v=")
    told = [content.rstrip(b"\0").split(b"\0") for kind, content in said if kind == b"S"]
    assert [b"server_version", b"15.0 (discreet)"] in told
    assert [b"client_encoding", b"UTF8"] in told
    assert kinds(said).count("K") == 1
    assert said[-1] == (b"Z", b"I")


@pytest.mark.parametrize("user", ["alice", "nobody", ""])
def test_a_wrong_password_and_an_unknown_name_look_the_same(server: Served, user: str) -> None:
    with Bytes(server.port) as line, pytest.raises(EOFError):
        line.login("wrong", user)
    with Bytes(server.port) as line:
        line.send(startup(user))
        kind, offered = line.message()
        assert (kind, offered) == (b"R", struct.pack(">i", 10) + b"SCRAM-SHA-256\0\0")
        line.send(packed(b"p", b"SCRAM-SHA-256\0" + struct.pack(">i", 13) + b"n,,n=,r=abcde"))
        challenge = line.message()[1][4:]
        line.send(packed(b"p", b"c=biws,r=" + challenge[2:].split(b",")[0] + b",p=AAAA"))
        assert fields(line.message()[1])["C"] == "28P01"


def test_an_unknown_name_keeps_its_salt(server: Served) -> None:
    salts = set()
    for _ in range(3):
        with Bytes(server.port) as line:
            line.send(startup("nobody"))
            line.message()
            line.send(packed(b"p", b"SCRAM-SHA-256\0" + struct.pack(">i", 13) + b"n,,n=,r=abcde"))
            salts.add(line.message()[1].split(b",")[1])
    assert len(salts) == 1


def test_nothing_is_answered_before_the_login(server: Served) -> None:
    with Bytes(server.port) as line:
        line.send(startup() + query(COUNT))
        line.message()
        assert fields(line.message()[1])["C"] == "08P01"
        assert line.rest() == b""


def test_without_a_certificate_encryption_is_refused_and_plain_text_goes_on(server: Served) -> None:
    with Bytes(server.port) as line:
        for request in (TLS, GSS):
            line.send(struct.pack(">ii", 8, request))
            assert line.take(1) == b"N"
        assert line.login(PASSWORD)[-1] == (b"Z", b"I")


def test_a_newer_protocol_is_negotiated_down(server: Served) -> None:
    with Bytes(server.port) as line:
        line.send(startup(version=(3 << 16) | 2, **{"_pq_.colour": "blue"}))
        kind, content = line.message()
    assert kind == b"v"
    assert content == struct.pack(">ii", 0, 1) + b"_pq_.colour\0"


# -- Describe, execute, portals -----------------------------------------------------------------------------


def test_describing_costs_nothing_and_executing_is_charged_once(server: Served, client: Bytes) -> None:
    client.send(parse(BY_SEX, "s") + describe("S", "s") + bind("", "s") + describe("P") + SYNC)
    said = client.until()
    assert kinds(said) == "1tT2TZ"
    assert server.charges() == 0
    client.send(bind("", "s") + execute() + execute() + SYNC)
    said = client.until()
    assert kinds(said) == "2NNNDDDCCZ"
    assert [content for kind, content in said if kind == b"C"] == [b"SELECT 3\0", b"SELECT 0\0"]
    assert server.charges() == 1
    client.send(bind("", "s") + execute() + SYNC)
    again = client.until()
    assert [content for kind, content in again if kind == b"D"] == [c for k, c in said if k == b"D"]
    assert server.charges() == 1


def test_a_portal_is_fetched_in_parts(server: Served, client: Bytes) -> None:
    client.send(query("BEGIN"))
    client.until()
    client.send(parse(BY_SEX) + bind("p") + execute("p", 2) + FLUSH)
    assert kinds(client.until(b"s")) == "12NNNDDs"
    client.send(execute("p", 2) + SYNC)
    assert kinds(client.until()) == "DCZ"
    client.send(query("COMMIT") + execute("p") + SYNC)
    assert client.until()[-1] == (b"Z", b"I")
    assert states(client.until()) == ["34000"]
    assert server.charges() == 1


def test_portals_end_with_their_transaction(client: Bytes) -> None:
    client.send(parse(BY_SEX) + bind("p") + SYNC + execute("p") + SYNC)
    client.until()
    assert states(client.until()) == ["34000"]


def test_after_an_error_everything_up_to_sync_is_skipped(server: Served, client: Bytes) -> None:
    client.send(parse("SELECT * FROM people") + bind() + execute() + parse(COUNT) + bind() + execute() + SYNC)
    said = client.until()
    assert kinds(said).replace("1", "") == "EZ"
    assert states(said) == ["0A000"]
    assert server.charges() == 0


def test_both_forms_hold_the_same_number(client: Bytes) -> None:
    client.send(parse(COUNT) + bind() + execute() + bind(forms=(1,)) + execute() + SYNC)
    rows = [content for kind, content in client.until() if kind == b"D"]
    assert int(rows[0][6:]) == struct.unpack(">q", rows[1][6:])[0]


def test_an_empty_query_is_answered_as_one(client: Bytes) -> None:
    client.send(query("  -- nothing\n ;"))
    assert kinds(client.until()) == "IZ"
    client.send(parse("") + bind() + describe("P") + execute() + SYNC)
    assert kinds(client.until()) == "12nIZ"


def test_several_questions_in_one_text_are_refused_before_the_first_is_asked(
    server: Served, client: Bytes
) -> None:
    client.send(query(f"BEGIN; {COUNT}; {BY_SEX}"))
    said = client.until()
    assert states(said) == ["0A000"]
    assert said[-1] == (b"Z", b"I")
    assert server.charges() == 0


@pytest.mark.parametrize(
    ("sql", "tag"),
    [
        ("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "BEGIN"),
        ("START TRANSACTION READ ONLY", "START TRANSACTION"),
        ("COMMIT", "COMMIT"),
        ("END", "COMMIT"),
        ("ROLLBACK", "ROLLBACK"),
        ("SAVEPOINT a", "SAVEPOINT"),
        ("RELEASE SAVEPOINT a", "RELEASE"),
        ("ROLLBACK TO SAVEPOINT a", "ROLLBACK"),
        ("SET application_name TO 'x'", "SET"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET"),
        ("SET TIME ZONE 'Europe/Berlin'", "SET"),
        ("SET NAMES 'utf8'", "SET"),
        ("SET discreet.epsilon = DEFAULT", "SET"),
        ("RESET ALL", "RESET"),
        ("DISCARD ALL", "DISCARD ALL"),
        ("DEALLOCATE ALL", "DEALLOCATE ALL"),
        ("CLOSE ALL", "CLOSE CURSOR ALL"),
        ("UNLISTEN *", "UNLISTEN"),
        ("SHOW TRANSACTION ISOLATION LEVEL", "SHOW"),
        ("SHOW time zone", "SHOW"),
        ("SHOW ALL", "SHOW"),
    ],
)
def test_statements_about_the_conversation_are_answered_plainly(
    long_lived: Served, sql: str, tag: str
) -> None:
    with Bytes(long_lived.port) as client:
        client.login(PASSWORD)
        client.send(query(sql))
        assert (b"C", tag.encode() + b"\0") in client.until()


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SET discreet.epsilon = 'much'", "22023"),
        ("SET discreet.epsilon = -1", "22023"),
        ("SET discreet.belief = 'none'", "55P02"),
        ("SET colour = 'blue'", "42704"),
        ("SHOW colour", "42704"),
        ("SET client_encoding = 'LATIN1'", "22023"),
        ("SET discreet.epsilon = 100; SELECT COUNT(*) FROM people", "53400"),
        ("SELECT nothing FROM", "0A000"),
        ("SELECT AVG(town) FROM people", "0A000"),
        ("FETCH 1 FROM nowhere", "34000"),
        ("DEALLOCATE nowhere", "26000"),
        ("SELECT COUNT(*) FROM people WHERE age > $1", "42P02"),
    ],
)
def test_a_refusal_has_its_state_and_costs_nothing(long_lived: Served, sql: str, state: str) -> None:
    before = long_lived.charges()
    with Bytes(long_lived.port) as client:
        client.login(PASSWORD)
        client.send(query(sql))
        assert states(client.until()) == [state]
    assert long_lived.charges() == before


def test_a_cancel_with_a_wrong_key_does_nothing_and_says_nothing(server: Served, client: Bytes) -> None:
    with Bytes(server.port) as other:
        other.send(struct.pack(">iiII", 16, CANCEL, 1, 2))
        assert other.rest() == b""
    client.send(query(COUNT))
    assert "C" in kinds(client.until())


def test_a_connection_ends_when_it_says_so(client: Bytes) -> None:
    client.send(TERMINATE)
    assert client.rest() == b""


# -- Malformed ----------------------------------------------------------------------------------------------

MESSAGES = st.one_of(
    st.binary(max_size=60),
    st.builds(
        packed, st.sampled_from([bytes([each]) for each in b"QPBDECSHXpdcf\0\xff"]), st.binary(max_size=40)
    ),
    st.builds(
        lambda kind, size, rest: kind + struct.pack(">i", size) + rest,
        st.sampled_from([b"Q", b"P", b"B", b"p"]),
        st.sampled_from([-1, 0, 3, 4, 5, 70_000, 2**31 - 1]),
        st.binary(max_size=20),
    ),
    st.builds(query, st.text(max_size=40)),
    st.builds(
        lambda text: query(f"{text}{COUNT}"), st.sampled_from(["/*", "--", "'", '"', "$$", "$a$", "E'", "("])
    ),
    st.sampled_from([parse(COUNT), bind(), describe("S"), describe("X"), execute(), SYNC, FLUSH]),
)


FUZZED = settings(max_examples=150)


@given(st.lists(MESSAGES, min_size=1, max_size=6))
@FUZZED
def test_no_bytes_before_the_login_crash_the_server(
    long_lived: Served, caplog: pytest.LogCaptureFixture, sent: list[bytes]
) -> None:
    with Bytes(long_lived.port) as line:
        _shout(line, b"".join(sent))
        assert b"Traceback" not in line.rest()
    _unharmed(long_lived, caplog)


@given(st.lists(MESSAGES, min_size=1, max_size=6))
@FUZZED
def test_no_bytes_after_the_login_crash_the_server(
    long_lived: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], sent: list[bytes]
) -> None:
    with Bytes(long_lived.port) as line:
        line.login(PASSWORD)
        _shout(line, b"".join(sent))
        said = line.rest()
    assert b"Traceback" not in said
    assert CANARY.encode() not in said
    assert b"XX000" not in said
    _unharmed(long_lived, caplog)
    assert capfd.readouterr().err == ""


def _shout(line: Bytes, content: bytes) -> None:
    """Send everything, and let it be known that no more comes."""
    with suppress(OSError):  # the server may hang up in the middle
        line.send(content)
        line.line.shutdown(socket.SHUT_WR)


def _unharmed(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    with Bytes(server.port) as line:
        line.send(startup())
        assert line.message()[0] == b"R"


# -- The forms of values ------------------------------------------------------------------------------------


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_a_decimal_survives_its_binary_form(value: Decimal) -> None:
    assert decode_parameter(get_encoder(PostgresType.NUMERIC, 1)(value), PostgresType.NUMERIC, 1) == value


@given(st.one_of(st.dates(), st.datetimes(), st.booleans(), st.integers(-(2**63), 2**63 - 1)))
def test_both_forms_of_a_value_mean_the_same(value: dt.date | bool | int) -> None:
    kind = KINDS[type(value)]
    assert [decode_parameter(get_encoder(kind, form)(value), kind, form) for form in (0, 1)] == [value, value]


@given(st.binary(max_size=20), st.sampled_from(list(PostgresType)), st.sampled_from([0, 1]))
def test_whatever_is_sent_as_a_parameter_is_read_or_refused(
    content: bytes, kind: PostgresType, form: int
) -> None:
    with suppress(WireError):
        decode_parameter(content, kind, form)


@given(st.text(max_size=200))
def test_splitting_a_text_loses_nothing_but_comments(text: str) -> None:
    assert all(piece.strip() for piece in split_statements(text))
    assert split_statements(f"SELECT 'a;b'; {text.replace(chr(39), '')}")[0] == "SELECT 'a;b'"


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 10_000,
        "$a$" * 6_000,
        "'" * 20_001,
        "BEGIN" + " " * 19_000 + "x",
        "E'" * 9_000,
        "SELECT " + "(" * 5_000 + "1",
        "SELECT 1" + "+1" * 9_000,
        "SELECT " + "NOT " * 4_000 + "true",
        "SELECT 1 " + "UNION ALL SELECT 1 " * 900,
        "SELECT " + "CASE WHEN true THEN " * 500 + "1",
        "SELECT oid FROM pg_class WHERE " + "oid = 1 OR " * 5_000 + "true",
        "SET a = " + "b, " * 6_000 + "c",
        "x" * 200_000,
    ],
    ids=range(13),
)
def test_no_text_keeps_the_server_or_makes_it_fail(text: str, long_lived: Served) -> None:
    with Bytes(long_lived.port) as line:
        line.login(PASSWORD)
        line.send(query(text))
        said = line.until()
    assert said[-1] == (b"Z", b"I")
    assert set(states(said)) <= {"0A000", "42601", "42704", "54000"}
