"""The chain of a ledger: what is changed by hand is found; older ledgers are chained as they stand."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.hash_chain import HashChain, LinkKind, hash_link
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import is_database_address
from discreet.core.errors import RequestError
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_ledger import HALVES, SQL, beneath, pure

GUARDS = {
    "link": ("link_stays", "link_unchanged"),
    "entry": ("entry_stays", "charge_stays"),
    "release": ("release_stays",),
}


def unguard(connection: Any, place: str) -> None:
    """Drop the triggers, as somebody does who edits the tables by hand."""
    for table, triggers in GUARDS.items():
        for each in triggers:
            on = f" ON {table}" if is_database_address(place) else ""
            connection.execute(f"DROP TRIGGER IF EXISTS {each}{on}")


def edit(place: str, *statements: str) -> None:
    with beneath(place) as connection:
        unguard(connection, place)
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def ledger_place(place: str) -> str:
    """A ledger with five settled entries, one fault and a release that is not differentially private."""
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        for number in range(5):
            analyst = ("alice", "bob")[number % 2]
            ledger.settle(ledger.reserve(analyst, f"key {number}", SQL, pure(Fraction(1, 100))), b"5")
        ledger.record_release("adult-k5", "a 5-anonymous table")
        ledger.record_fault(ledger.reserve("bob", "key 5", SQL, pure(Fraction(1, 100))), "20240229-7f3a")
        ledger.clear_suspension("bob")
        ledger.verify()
    return place


COPY = (
    "INSERT INTO entry (id, time, analyst, question_key, question, guarantee, epsilon, rho, delta, state,"
    " process, number) SELECT {id}, time, analyst, 'inserted', question, guarantee, '0', rho, delta,"
    " 'orphaned', process, number FROM entry WHERE id = 1"
)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE entry SET epsilon = '1/1000' WHERE id = 2", "entry 2 was changed"),
        ("UPDATE entry SET question = 'SELECT 1' WHERE id = 2", "entry 2 was changed"),
        ("UPDATE entry SET answer = NULL, state = 'orphaned' WHERE id = 2", "the outcome of entry 2 was"),
        ("UPDATE entry SET metadata = '[]' WHERE id = 2", "the outcome of entry 2 was changed"),
        ("DELETE FROM entry WHERE id = 2", "entry 2 was removed"),
        (COPY.format(id=0), "entry 0 was inserted"),
        ("DELETE FROM link WHERE id = 4", "a link of its chain is missing before link 5"),
        ("UPDATE link SET analyst = 'bob' WHERE id = 2", "link 2 of its chain was changed"),
        ("UPDATE link SET body = replace(body, '1/100', '1/900') WHERE id = 3", "link 3 of its chain was"),
        ("UPDATE release SET name = 'nothing'", "release nothing was changed"),
        ("DELETE FROM release", "release adult-k5 was removed"),
        ("UPDATE account SET epsilon = '0' WHERE analyst = 'bob'", "what bob has spent is not the sum of"),
        ("UPDATE account SET share = '1' WHERE analyst = 'bob'", "the share of bob was changed"),
        ("UPDATE account SET incident = 'x-1' WHERE analyst = 'bob'", "the suspension of bob was changed"),
        (
            "INSERT INTO account VALUES ('eve', '1', '0', '0', '0', 0, NULL)",
            "the account of eve was inserted",
        ),
        (
            "UPDATE link SET body = replace(body, '1/2', '2/2') WHERE id = 2",
            "link 2 of its chain was changed",
        ),
        ("UPDATE account SET events = 0 WHERE analyst = 'bob'", "entries are missing"),
    ],
)
def test_every_kind_of_damage_has_its_sentence(statement: str, what: str, ledger_place: str) -> None:
    edit(ledger_place, statement)
    with pytest.raises(RequestError) as refused, Ledger(ledger_place, PROMISE) as ledger:
        ledger.verify()
    assert what in refused.value.message
    assert refused.value.exit_code == 2
    assert refused.value.hint


def test_sums_that_were_edited_are_not_believed_when_asking(ledger_place: str) -> None:
    with Ledger(ledger_place, PROMISE, analysts=HALVES) as ledger:
        edit(ledger_place, "UPDATE account SET epsilon = '0'")
        with pytest.raises(RequestError, match="is not the sum of"):
            ledger.reserve("alice", "more", SQL, pure(Fraction(1, 100)))
        with pytest.raises(RequestError, match="is not the sum of"):
            ledger.describe_belief()
    with pytest.raises(RequestError, match="is not the sum of"):
        Ledger(ledger_place, PROMISE)


def test_shares_and_suspensions_that_were_edited_are_not_believed_when_asking(ledger_place: str) -> None:
    with Ledger(ledger_place, PROMISE, analysts=HALVES) as ledger:
        ledger.suspend("bob", "20240301-1")
        edit(ledger_place, "UPDATE account SET incident = NULL WHERE analyst = 'bob'")
        with pytest.raises(RequestError, match="the suspension of bob was changed"):
            ledger.reserve("bob", "more", SQL, pure(Fraction(1, 100)))
        edit(ledger_place, "UPDATE account SET share = '9/10' WHERE analyst = 'alice'")
        with pytest.raises(RequestError, match="the share of alice was changed"):
            ledger.reserve("alice", "more", SQL, pure(Fraction(1, 100)))
        with pytest.raises(RequestError, match="of alice was changed"):
            ledger.list_accounts()
    # the shares that a policy gives do not hide it
    with pytest.raises(RequestError, match="of alice was changed"):
        Ledger(ledger_place, PROMISE, analysts=HALVES)


def test_shares_and_suspensions_that_change_as_they_should_are_whole(ledger_place: str) -> None:
    with Ledger(ledger_place, PROMISE, analysts=HALVES) as ledger:
        ledger.suspend("bob", "20240301-1")
        ledger.set_shares({"alice": Fraction(1, 4), "bob": Fraction(1, 4), "carol": Fraction(1, 2)})
        ledger.clear_suspension("bob")
        ledger.verify()
        ledger.settle(ledger.reserve("carol", "more", SQL, pure(Fraction(1, 100))), b"5")
    with Ledger(ledger_place, PROMISE) as ledger:
        ledger.verify()
        assert ledger.get_account("alice").share == Fraction(1, 4)


def test_a_ledger_that_was_chained_without_shares_has_them_chained_once(place: str) -> None:
    form = "UPDATE ledger SET format = 3" if is_database_address(place) else "PRAGMA user_version = 3"
    Ledger(place, PROMISE, analysts=HALVES).close()
    edit(place, "DELETE FROM link WHERE kind = 'standing'", form)
    for _ in range(2):
        with Ledger(place, PROMISE, analysts=HALVES) as ledger:
            ledger.verify()
            with ledger.storage.read_transaction() as rows:
                assert len(HashChain(rows, ledger.storage).list_links(LinkKind.STANDING)) == 1
    edit(place, "UPDATE account SET share = '1' WHERE analyst = 'bob'", form)
    with pytest.raises(RequestError, match="the share of bob was changed"):
        Ledger(place, PROMISE, analysts=HALVES)


@pytest.mark.parametrize("which", ["the last", "one before"])
def test_opening_finds_an_end_that_was_cut_off(which: str, ledger_place: str) -> None:
    last = "(SELECT max(id) FROM link)"
    edit(ledger_place, f"DELETE FROM link WHERE id = {last}{'' if which == 'the last' else ' - 1'}")
    with pytest.raises(RequestError, match="is damaged"), Ledger(ledger_place, PROMISE) as ledger:
        ledger.verify()


def test_a_charge_that_was_hashed_again_does_not_fit_its_running_sums(ledger_place: str) -> None:
    """One who knows the format rewrites entry and link; the sums beside them still tell."""
    with Ledger(ledger_place, PROMISE) as ledger, ledger.storage.read_transaction() as rows:
        links = HashChain(rows, ledger.storage)
        first, rest = links.get_link(3), [links.get_link(number) for number in range(4, 20)]
    assert first is not None
    changes = [(3, json.dumps({**first.body, "own": ["0", "0", "0", 1]}, sort_keys=True))]
    changes += [(each.id, json.dumps(each.body, sort_keys=True)) for each in rest if each is not None]
    head, statements = first.previous, []
    for number, body in changes:
        text = body.replace("'", "''")
        statements.append(
            f"UPDATE link SET body = '{text}', previous = '{head}', head = '{hash_link(head, body)}'"
            f" WHERE id = {number}"
        )
        head = hash_link(head, body)
    edit(ledger_place, *statements)
    with (
        Ledger(ledger_place, PROMISE) as ledger,
        pytest.raises(RequestError, match="running sums of entry 1"),
    ):
        ledger.verify()


def make_older(place: str) -> None:
    """Turn a ledger into one of the format before the chain."""
    form = "UPDATE ledger SET format = 2" if is_database_address(place) else "PRAGMA user_version = 2"
    edit(place, "DROP TABLE link", form)


def test_a_ledger_of_the_format_before_is_chained_as_it_stands_and_says_so(ledger_place: str) -> None:
    with Ledger(ledger_place, PROMISE) as ledger:
        before, spent = ledger.list_entries(), ledger.get_total_spent("alice")
    make_older(ledger_place)
    with Ledger(ledger_place, PROMISE) as ledger:
        assert ledger.list_entries() == before
        assert ledger.get_total_spent("alice") == spent
        ledger.verify()
        with ledger.storage.read_transaction() as rows:
            (link,) = HashChain(rows, ledger.storage).list_links(LinkKind.MIGRATION)
        assert (link.body["format"], link.body["entries"]) == (2, 6)
        ledger.settle(ledger.reserve("alice", "more", SQL, pure(Fraction(1, 100))), b"5")
        ledger.verify()
    with Ledger(ledger_place, PROMISE) as ledger:
        ledger.verify()


def test_an_older_ledger_whose_sums_were_edited_is_not_taken_over(ledger_place: str) -> None:
    make_older(ledger_place)
    edit(ledger_place, "UPDATE account SET epsilon = '0'")
    with pytest.raises(RequestError, match="is not the sum of"):
        Ledger(ledger_place, PROMISE)
