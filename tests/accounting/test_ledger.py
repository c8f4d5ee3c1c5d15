"""The ledger: the cap holds whoever asks, at once or one after another, and whatever happens on the way."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Accountant, LossDistribution
from discreet.accounting.amounts import format_remaining
from discreet.accounting.entries import EntryState
from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.ledger_file import LedgerFile
from discreet.accounting.ledger_storage import FORMAT, is_database_address
from discreet.belief import Promise
from discreet.core.errors import BudgetError, EngineFault, InvalidParameterError, RequestError
from discreet.core.guarantees import (
    ApproximateDP,
    DiscreteGaussianDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from discreet.core.neighbor_relations import Relation
from tests.accounting.ledger_rivals import PART, PROMISE, RIVALS, SelectThenUpdate, ask_often
from tests.accounting.worlds import Output, Response, breach_probability, transcripts
from tests.patience import PATIENCE

TAILED = Promise(0.01, 0.05, tail=1e-6)
LOOSE = Promise(0.2, 0.5, tail=0.05)
HALVES = {"alice": 0.5, "bob": 0.5}
SQL = "SELECT COUNT(*) FROM adult"


def memory(promise: Promise = PROMISE, /, **shares: float) -> Ledger:
    return Ledger(":memory:", promise, analysts=shares or HALVES)


def pure(epsilon: Any) -> PureDP:
    return PureDP(epsilon=epsilon)


def is_accepted(ledger: Ledger, analyst: str, guarantee: Guarantee, key: str = "key") -> bool:
    try:
        ledger.reserve(analyst, key, SQL, guarantee)
    except BudgetError:
        return False
    return True


@contextmanager
def beneath(place: str | Path) -> Iterator[Any]:
    """A connection to what a ledger is kept in, for those who go round it."""
    text = str(place)
    with closing(psycopg.connect(text) if is_database_address(text) else sqlite3.connect(text)) as connection:
        yield connection
        connection.commit()


def dump(place: str) -> list[str]:
    with beneath(place) as connection:
        return [
            repr(row)
            for table in ("terms", "account", "entry", "release", "link")
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1")
        ]


def tamper(place: str | Path, *statements: str) -> None:
    with beneath(place) as connection:
        for statement in statements:
            connection.execute(statement)


# the cap


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["alice", "bob"]),
            st.one_of(st.floats(1e-6, 1), st.fractions(Fraction(1, 1000), 1, max_denominator=1000)),
        ),
        max_size=25,
    )
)
@settings(max_examples=40)
def test_sums_are_exact_and_never_pass_the_cap(questions: list[tuple[str, float]]) -> None:
    with memory(alice=0.5, bob=0.25) as ledger:
        most = {"alice": Fraction(PROMISE.epsilon) / 2, "bob": Fraction(PROMISE.epsilon) / 4}
        accepted = {"alice": Fraction(0), "bob": Fraction(0)}
        for analyst, epsilon in questions:
            if is_accepted(ledger, analyst, pure(epsilon)):
                accepted[analyst] += Fraction(epsilon)
            else:
                assert accepted[analyst] + Fraction(epsilon) > most[analyst]
        for analyst, total in accepted.items():
            assert ledger.get_total_spent(analyst) == pure(total)
            assert total <= most[analyst] + Fraction(PROMISE.epsilon) / 2**51
        assert ledger.get_total_spent() == pure(sum(accepted.values()))
        assert ledger.compute_belief().highest <= 0.05 * (1 + 1e-12)
        ledger.verify()


@given(st.lists(st.tuples(st.sampled_from(["alice", "bob"]), st.floats(1e-4, 0.3)), max_size=20))
@settings(max_examples=25)
def test_rho_never_passes_the_cap_with_a_tail(questions: list[tuple[str, float]]) -> None:
    with memory(TAILED, alice=0.6, bob=0.4) as ledger:
        limit = Fraction(Accountant(TAILED).limit.rho)  # type: ignore[union-attr]
        accepted = {"alice": Fraction(0), "bob": Fraction(0)}
        for analyst, mu in questions:
            rho = Fraction(mu) ** 2 / 2
            fits = accepted[analyst] + rho <= limit * (
                Fraction(3, 5) if analyst == "alice" else Fraction(2, 5)
            )
            assert is_accepted(ledger, analyst, GaussianDP(mu=mu)) is fits
            accepted[analyst] += rho * fits
        assert ledger.get_total_spent() == ZeroConcentratedDP(rho=sum(accepted.values()))
        assert TAILED.admits(ledger.get_total_spent())
        assert ledger.compute_belief().highest <= 0.05 * (1 + 1e-12)


def test_neither_data_versions_nor_openings_reset_the_cap(place: str) -> None:
    accepted = 0
    for version in range(6):
        with Ledger(place, PROMISE, analysts={"alice": 1}) as ledger:
            accepted += is_accepted(ledger, "alice", pure(5 * Fraction(PART)), key=f"data version {version}")
    assert accepted == 4


def test_all_of_the_cap_can_be_spent_in_decimal_shares() -> None:
    tenths = {f"analyst {i}": 0.1 for i in range(10)}
    with Ledger(":memory:", PROMISE, analysts=tenths) as ledger:
        for i in range(10):
            assert is_accepted(ledger, f"analyst {i}", pure(PROMISE.epsilon / 10))
            assert not is_accepted(ledger, f"analyst {i}", pure(1e-9))
        assert ledger.compute_belief().highest == pytest.approx(0.05)


def test_what_is_left_can_be_spent_with_and_without_a_tail() -> None:
    for promise in (PROMISE, TAILED):
        with memory(promise, alice=1 / 3, bob=2 / 3) as ledger:
            assert is_accepted(ledger, "alice", pure(Fraction(1, 7919)))
            assert is_accepted(ledger, "alice", ledger.get_remaining_budget("alice"))
            assert not is_accepted(ledger, "alice", pure(1e-6))
            assert is_accepted(ledger, "bob", ledger.get_remaining_budget("bob"))


def test_without_analysts_one_of_them_has_all() -> None:
    with Ledger(":memory:", PROMISE) as ledger:
        assert [(each.analyst, each.share) for each in ledger.list_accounts()] == [
            (SOLE_ANALYST, Fraction(1))
        ]
        assert is_accepted(ledger, SOLE_ANALYST, pure(PROMISE.epsilon))


def test_shares_that_exceed_the_whole_by_a_rounding_error_are_scaled() -> None:
    elevenths = {f"analyst {i}": 1 / 11 for i in range(11)}
    assert sum(Fraction(str(each)) for each in elevenths.values()) > 1
    with Ledger(":memory:", TAILED, analysts=elevenths) as ledger:
        assert 1 - Fraction(1, 10**15) < sum(each.share for each in ledger.list_accounts()) <= 1
        for analyst in elevenths:
            assert is_accepted(ledger, analyst, ledger.get_remaining_budget(analyst))
        assert TAILED.admits(ledger.get_total_spent())


def test_the_cap_holds_even_if_shares_in_the_file_were_made_larger(place: str) -> None:
    """Also in the chain: one that was edited alone is refused (`test_hash_chain`)."""
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        ledger.transact(
            lambda transaction: transaction.accounts.write_shares({"alice": Fraction(1), "bob": Fraction(1)})
        )
    with Ledger(place, PROMISE) as ledger:
        assert is_accepted(ledger, "alice", pure(0.6 * PROMISE.epsilon))
        with pytest.raises(BudgetError, match="left to bob is") as refused:
            ledger.reserve("bob", "key", SQL, pure(0.6 * PROMISE.epsilon))
        assert "0.66" not in str(refused.value)
        assert is_accepted(ledger, "bob", pure(0.39 * PROMISE.epsilon))


def test_sums_of_odd_fractions_stay_short_and_are_never_too_small() -> None:
    with memory(TAILED) as ledger:
        exact = Fraction(0)
        for k in range(200):
            variance = Fraction(10**9 + 2 * k + 1, 1013)
            assert is_accepted(ledger, "alice", DiscreteGaussianDP(variance=variance, shift=3))
            exact += 9 / (2 * variance)
        spent = ledger.get_total_spent()
        assert isinstance(spent, ZeroConcentratedDP)
        assert 0 <= Fraction(spent.rho) - exact <= Fraction(200, 2**256)
        assert len(str(spent.rho)) < 2_000 < len(str(exact))


def test_a_presence_release_is_charged_twice_under_a_value_promise(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        guarantee = PureDP(epsilon=Fraction(1, 4), relation=Relation.PRESENCE)
        entry = ledger.reserve("alice", "key", SQL, guarantee)
        assert entry.guarantee == guarantee
        assert entry.charge == pure(Fraction(1, 2))


def test_a_law_of_the_loss_is_kept_as_what_it_is_charged_for(place: str) -> None:
    with Ledger(place, TAILED, analysts=HALVES) as ledger:
        entry = ledger.reserve("alice", "key", SQL, LossDistribution.from_events([GaussianDP(mu=0.1)] * 2))
        assert entry.guarantee == entry.charge
        assert float(entry.charge.rho) == pytest.approx(0.01)  # type: ignore[union-attr]


# budgets chosen by looking at answers


def colluding(promise: Promise, choose: Callable[[tuple[int, ...]], Response], depth: int) -> list[Output]:
    """Every transcript of two analysts who put all answers together and take turns."""

    def ask(outputs: tuple[int, ...]) -> list[Output] | None:
        if len(outputs) == depth:
            return None
        with memory(promise, alice=0.7, bob=0.3) as ledger:
            for turn in range(len(outputs) + 1):
                release = choose(outputs[:turn])
                guarantee = ApproximateDP(epsilon=release.epsilon, delta=release.delta)
                answered = is_accepted(ledger, ("alice", "bob")[turn % 2], guarantee)
        return [(float(p), float(q)) for p, q in release.outputs] if answered else [(1.0, 1.0)]

    def note(outputs: tuple[int, ...], output: int) -> tuple[int, ...]:
        return (*outputs, output)

    start: tuple[int, ...] = ()
    return transcripts(start, ask, note)


@given(st.data())
@settings(max_examples=8)
def test_no_choice_of_budgets_by_answers_breaks_the_promise(data: st.DataObject) -> None:
    chosen: dict[tuple[int, ...], Response] = {}

    def choose(outputs: tuple[int, ...]) -> Response:
        if outputs not in chosen:
            gamma = data.draw(st.fractions(1, 2, max_denominator=20))
            chosen[outputs] = Response(gamma, data.draw(st.sampled_from([Fraction(0), Fraction(1, 2000)])))
        return chosen[outputs]

    assert breach_probability(colluding(LOOSE, choose, depth=3), LOOSE.gamma) <= LOOSE.tail


def test_budgets_chosen_by_answers_stay_below_the_odds_of_a_promise_without_tail() -> None:
    promise = Promise(0.2, 0.5)

    def choose(outputs: tuple[int, ...]) -> Response:
        return Response(Fraction(3, 2) if sum(outputs) % 2 else Fraction(5, 4))

    odds = [p / q for p, q in colluding(promise, choose, depth=6)]
    assert 2 < max(odds) <= promise.gamma * (1 + 1e-12)


# shares


def test_a_refusal_says_what_is_left_to_the_analyst_and_what_still_fits(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        assert is_accepted(ledger, "alice", pure(0.7))
        with pytest.raises(BudgetError) as refused:
            ledger.reserve("alice", "key", SQL, pure(Fraction(1, 2)))
        assert refused.value.exit_code == 3
        assert refused.value.message == (
            "reserve: this costs epsilon 0.5 for replace-one neighbours; left to alice is epsilon 0.12534, "
            "of a share of epsilon 0.82534."
        )
        said = float(refused.value.hint.split("epsilon ")[1].split()[0])
        assert not is_accepted(ledger, "alice", pure(said + 1e-5))
        assert is_accepted(ledger, "alice", pure(said))


@pytest.mark.parametrize(
    ("analysts", "way_out"),
    [(HALVES, "a larger share is the custodian's to grant"), ({"alice": 1}, "is spent")],
)
@pytest.mark.parametrize("promise", [PROMISE, TAILED])
def test_a_refusal_says_that_nothing_is_left_where_a_rounding_is(
    promise: Promise, analysts: dict[str, float], way_out: str
) -> None:
    with Ledger(":memory:", promise, analysts=analysts) as ledger:
        left = ledger.get_remaining_budget("alice")
        most = left.epsilon if isinstance(left, PureDP) else left.rho
        nearly = Fraction(most) * (1 - Fraction(1, 10**12))
        assert is_accepted(
            ledger, "alice", pure(nearly) if promise is PROMISE else ZeroConcentratedDP(rho=nearly)
        )
        with pytest.raises(BudgetError, match="nothing is left to alice, of a share of") as refused:
            ledger.reserve("alice", "other", SQL, pure(0.5))
        assert way_out in refused.value.hint
        assert format_remaining(ledger.get_remaining_budget("alice")) == "nothing"


def test_a_refusal_with_a_tail_says_rho_and_delta() -> None:
    with (
        memory(TAILED) as ledger,
        pytest.raises(BudgetError, match=r"left to alice is rho 0\.0221\d+ and delta"),
    ):
        ledger.reserve("alice", "key", SQL, GaussianDP(mu=1))


def test_an_analyst_cannot_see_what_others_have_asked() -> None:
    def seen_by_alice(bob_asks: bool) -> list[object]:
        with memory() as ledger:
            if bob_asks:
                entry = ledger.reserve("bob", "key", SQL, pure(0.8))
                ledger.settle(entry, b"from bob")
                ledger.record_fault(ledger.reserve("bob", "other", SQL, pure(0.01)), "1")
            seen: list[object] = [
                ledger.find_stored_answer("alice", "key"),
                ledger.get_remaining_budget("alice"),
                ledger.get_total_spent("alice"),
            ]
            seen += [
                is_accepted(ledger, "alice", pure(0.8)),
                ledger.get_remaining_budget("alice"),
                len(ledger.list_entries("alice")),
            ]
            with pytest.raises(BudgetError) as refused:
                ledger.reserve("alice", "key", SQL, pure(0.1))
            return [*seen, str(refused.value)]

    assert seen_by_alice(True) == seen_by_alice(False)


def test_shares_may_be_moved_but_not_below_what_was_spent(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        assert is_accepted(ledger, "alice", pure(PROMISE.epsilon / 4))
    with Ledger(place, PROMISE, analysts={"alice": 0.3, "carol": 0.7}) as ledger:
        assert not is_accepted(ledger, "bob", pure(1e-9))
        assert is_accepted(ledger, "carol", pure(0.7 * PROMISE.epsilon))
    for shares in ({"alice": 0.5, "carol": 0.5}, {"alice": 0.1, "bob": 0.9}):
        with pytest.raises(RequestError, match="carol spent more than that") as refused:
            Ledger(place, PROMISE, analysts=shares)
    assert refused.value.hint == "Let the shares of all others add up to at most 5%."
    with Ledger(place, PROMISE, analysts={"bob": 0.05}) as ledger:
        assert ledger.get_remaining_budget("carol") == pure(0)
        assert is_accepted(ledger, "bob", pure(0.05 * PROMISE.epsilon))
        assert ledger.compute_belief().highest <= 0.05


def test_shares_are_those_of_the_policy_that_was_opened_last(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as early:
        with Ledger(place, PROMISE, analysts={"alice": 0.1, "bob": 0.9}):
            assert not is_accepted(early, "alice", pure(PROMISE.epsilon / 4))
        with Ledger(place, PROMISE) as late:
            assert {each.analyst: each.share for each in late.list_accounts()} == {
                "alice": Fraction(1, 10),
                "bob": Fraction(9, 10),
            }


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ({"alice": 0.7, "bob": 0.4}, "add up to 110.0000%; there is 100% to divide"),
        ({}, "Ledger.analysts must be at least one analyst"),
        ({"alice": -0.1}, r"Ledger.analysts\[alice\] must be a share between 0 and 1; got -0.1"),
        ({"alice": float("nan")}, "must be a share between 0 and 1; got nan"),
        ({"alice": "half"}, "must be a share between 0 and 1; got half"),
        ({"": 1}, "must be named by a text"),
        ({7: 1}, "must be named by a text"),
    ],
)
def test_bad_shares_are_refused_before_a_file_is_made(shares: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=sentence):
        Ledger(tmp_path / "ledger.db", PROMISE, analysts=shares)
    assert list(tmp_path.iterdir()) == []


# refused questions


@pytest.mark.parametrize(
    ("analyst", "guarantee", "kind"),
    [
        ("alice", pure(1), BudgetError),
        ("carol", pure(0.1), RequestError),
        ("alice", GaussianDP(mu=0.01), RequestError),
        ("alice", DiscreteGaussianDP(variance=Fraction(9), shift=1), RequestError),
        ("alice", 0.1, InvalidParameterError),
        ("alice", pure(Fraction(1, 3**9_000)), RequestError),
    ],
)
def test_refused_questions_cost_nothing_and_leave_no_trace(
    analyst: str, guarantee: Any, kind: type[RequestError], place: str
) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        ledger.settle(ledger.reserve("alice", "key", SQL, pure(0.1)), b"1")
        before = dump(place)
        with pytest.raises(kind):
            ledger.reserve(analyst, "a secret key", "SELECT 'a secret question'", guarantee)
        assert dump(place) == before
        assert ledger.get_total_spent() == pure(0.1)
    if not is_database_address(place):
        for each in Path(place).parent.iterdir():
            assert b"a secret" not in each.read_bytes()


@pytest.mark.parametrize("name", ["analyst", "question_key", "question_text"])
@pytest.mark.parametrize("value", ["", " ", None, 7])
def test_a_question_is_texts(name: str, value: Any) -> None:
    words: dict[str, Any] = {"analyst": "alice", "question_key": "key", "question_text": SQL, name: value}
    with (
        memory() as ledger,
        pytest.raises(InvalidParameterError, match=rf"^reserve: `{name}=` must be a text"),
    ):
        ledger.reserve(**words, guarantee=pure(0.1))


# outcomes


def test_every_outcome_keeps_the_charge(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        entries = [ledger.reserve("alice", f"key {i}", SQL, pure(Fraction(1, 10))) for i in range(3)]
        assert [each.state for each in entries] == [EntryState.RESERVED] * 3
        assert ledger.settle(entries[0], b"5", {"columns": ["n"]}).state is EntryState.SETTLED
        assert ledger.record_fault(entries[1], "20240229-7f3a").state is EntryState.FAULTED
        assert ledger.get_total_spent("alice") == ledger.get_total_spent() == pure(Fraction(3, 10))
        assert [each.state for each in ledger.list_entries()] == [
            EntryState.SETTLED,
            EntryState.FAULTED,
            EntryState.RESERVED,
        ]
        assert [each.id for each in ledger.list_entries()] == [1, 2, 3]
        assert ledger.list_entries()[2] == entries[2]
        ledger.verify()


def test_a_settled_answer_is_given_again_for_nothing_and_only_to_the_same_analyst(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        assert ledger.find_stored_answer("alice", "key") is None
        entry = ledger.reserve("alice", "key", SQL, pure(0.1))
        assert ledger.find_stored_answer("alice", "key") is None
        ledger.settle(entry, b"\x00 5 \xff", {"columns": ["n"], "error": 3.5})
        again = ledger.find_stored_answer("alice", "key")
        assert again is not None
        assert (again.answer, again.metadata) == (b"\x00 5 \xff", {"columns": ["n"], "error": 3.5})
        assert again.entry.id == entry.id
        assert ledger.get_total_spent() == pure(0.1)
        assert ledger.find_stored_answer("bob", "key") is None
        assert ledger.find_stored_answer("alice", "another key") is None


def test_the_first_answer_stays(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        for answer in (b"first", b"second"):
            ledger.settle(ledger.reserve("alice", "key", SQL, pure(0.1)), answer)
        again = ledger.find_stored_answer("alice", "key")
        assert again is not None
        assert again.answer == b"first"


def test_a_fault_suspends_that_analyst_until_cleared(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        settled = ledger.reserve("alice", "old", SQL, pure(0.1))
        ledger.settle(settled, b"5")
        ledger.record_fault(ledger.reserve("alice", "key", SQL, pure(0.1)), "20240229-7f3a")
        with pytest.raises(RequestError, match="alice is suspended since incident 20240229-7f3a") as refused:
            ledger.reserve("alice", "next", SQL, pure(0.1))
        assert refused.value.exit_code == 2
        assert ledger.find_stored_answer("alice", "old") is not None
        assert is_accepted(ledger, "bob", pure(0.1))
        ledger.clear_suspension("alice")
        assert is_accepted(ledger, "alice", pure(0.1))
        assert [each.incident for each in ledger.list_entries("alice")] == [None, "20240229-7f3a", None]
        with pytest.raises(RequestError, match="has no analyst carol"):
            ledger.clear_suspension("carol")


def test_an_entry_ends_once() -> None:
    with memory() as ledger, memory() as other:
        entry = ledger.reserve("alice", "key", SQL, pure(0.1))
        with pytest.raises(RequestError, match="settle: entry 1 is not of this ledger"):
            other.settle(entry, b"5")
        ledger.settle(entry, b"5")
        with pytest.raises(RequestError, match="settle: entry 1 is settled already"):
            ledger.settle(entry, b"6")
        with pytest.raises(RequestError, match="fault: entry 1 is settled already"):
            ledger.record_fault(entry, "1")
        assert is_accepted(ledger, "alice", pure(0.1))


def test_what_is_open_when_the_ledger_is_closed_is_an_orphan(place: str) -> None:
    with Ledger(place, PROMISE) as ledger:
        entry = ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
        assert ledger.list_entries()[0].state is EntryState.RESERVED
    with pytest.raises(RequestError, match="was closed"):
        ledger.settle(entry, b"5")
    with Ledger(place, PROMISE) as ledger:
        assert ledger.list_entries()[0].state is EntryState.ORPHANED
        assert ledger.get_total_spent() == pure(0.5)
        assert is_accepted(ledger, SOLE_ANALYST, pure(0.5))


def test_a_ledger_does_not_cross_a_fork(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(place, PROMISE) as ledger:
        parent = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: parent + 1)
        with pytest.raises(RequestError, match=r"was opened before a fork\. Open it in each process"):
            ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
        monkeypatch.undo()
        assert is_accepted(ledger, SOLE_ANALYST, pure(0.5))


# many at once


def rivals(ask: Callable[[], int]) -> int:
    with ThreadPoolExecutor(RIVALS) as pool:
        return sum(each.result() for each in [pool.submit(ask) for _ in range(RIVALS)])


def slow_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time between reading and writing, in which others would come in between."""
    decide = Accountant.has_room_for

    def slowly(self: Accountant, guarantee: Guarantee, *, times: int = 1) -> bool:
        time.sleep(0.001)
        return decide(self, guarantee, times=times)

    monkeypatch.setattr(Accountant, "has_room_for", slowly)


def test_threads_on_one_ledger_never_overspend(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(place, PROMISE, analysts={"alice": 1}) as ledger:
        slow_decisions(monkeypatch)
        assert rivals(lambda: ask_often(ledger)) == 20
        assert len(ledger.list_entries()) == 20
        ledger.verify()


def test_connections_of_their_own_never_overspend(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_decisions(monkeypatch)

    def ask() -> int:
        with Ledger(place, PROMISE, analysts={"alice": 1}) as ledger:
            return ask_often(ledger)

    assert rivals(ask) == 20
    with Ledger(place, PROMISE) as ledger:
        assert ledger.get_total_spent() == pure(20 * Fraction(PART))
        ledger.verify()


def test_a_ledger_that_selects_and_then_updates_would_be_overdrawn(place: str) -> None:
    twin = SelectThenUpdate(place, threading.Barrier(RIVALS))
    assert rivals(twin.ask) == RIVALS > twin.room


def rival(role: str, place: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.accounting.ledger_rivals", role, place],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_that_make_one_ledger_together_never_overspend(place: str) -> None:
    process = rival("together", place)
    assert process.communicate(timeout=PATIENCE)[0] == "20\n"
    with Ledger(place, PROMISE) as ledger:
        assert ledger.get_total_spent() == pure(20 * Fraction(PART))
        ledger.verify()


# kill -9


def kill_rival(role: str, place: str, meanwhile: Callable[[], object] = lambda: None) -> object:
    process = rival(role, place)
    try:
        assert heard(process) == "ready"
        return meanwhile()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def test_a_process_that_nobody_has_buried_yet_is_dead(place: str) -> None:
    process = rival("after the entry", place)
    assert heard(process) == "ready"
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with Ledger(place, PROMISE) as ledger:
        assert [each.state for each in ledger.list_entries()] == [EntryState.ORPHANED]
    process.communicate(timeout=PATIENCE)


def test_a_process_killed_before_it_settles_stays_charged_and_is_listed(place: str) -> None:

    def state() -> object:
        with Ledger(place, PROMISE) as ledger:
            return [each.state for each in ledger.list_entries()]

    assert kill_rival("after the entry", place, meanwhile=state) == [EntryState.RESERVED]
    assert state() == [EntryState.ORPHANED]
    with Ledger(place, PROMISE) as ledger:
        assert ledger.get_total_spent() == pure(PART)
        assert ledger.find_stored_answer("alice", "key") is None
        ledger.verify()
        assert ask_often(ledger, tries=21) == 19


def test_a_process_killed_before_the_entry_is_written_is_not_charged(place: str) -> None:
    kill_rival("before the entry", place)
    with Ledger(place, PROMISE) as ledger:
        assert ledger.get_total_spent() == pure(0)
        assert ledger.list_entries() == []
        ledger.verify()


# the promise


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (Promise(0.01, 0.1), "it has posterior 0.05, not posterior 0.1"),
        (Promise(0.02, 0.05), "it has prior 0.01, not prior 0.02"),
        (Promise(0.01, 0.05, secret="presence"), "it has secret value, not secret presence"),
        (Promise(0.01, 0.05, group=2), "it has group 1, not group 2"),
        (Promise(0.01, 0.05, tail=1e-6), "it has tail 0.0, not tail 1e-06"),
    ],
)
def test_another_promise_is_refused_with_what_to_do(changed: Promise, said: str, place: str) -> None:
    with Ledger(place, PROMISE):
        pass
    with pytest.raises(RequestError, match="was made for another promise") as refused:
        Ledger(place, changed)
    assert said in refused.value.message
    assert "put it back, or name a new file under ledger" in refused.value.hint
    with Ledger(place, PROMISE) as ledger:
        assert ledger.promise == PROMISE


def test_another_leak_is_refused(place: str) -> None:
    with Ledger(place, TAILED):
        pass
    with pytest.raises(RequestError, match="it has leak 1/20, not leak 1/2"):
        Ledger(place, TAILED, leak=0.5)


# what it comes to


def test_the_sentence_says_before_now_and_promised(place: str) -> None:
    with Ledger(place, PROMISE, analysts={"alice": 1}) as ledger:
        assert ledger.describe_belief() == (
            "An attacker who was at most 1% sure of a claim about one person can now be at most 1% sure "
            "(promise: 5%)."
        )
        assert is_accepted(ledger, "alice", pure(1.25))
        assert ledger.compute_belief().highest == pytest.approx(0.03405, abs=1e-5)
        assert "can now be at most 3.41% sure (promise: 5%)." in ledger.describe_belief()
        assert is_accepted(ledger, "alice", ledger.get_remaining_budget())
        assert ledger.describe_belief().endswith("can now be at most 5% sure (promise: 5%).")
        assert ledger.describe_belief(0.1).endswith("can now be at most 36.7% sure.")
        assert ledger.compute_belief(0.1).highest == pytest.approx(0.36667, abs=1e-5)


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (Promise(0.01, 0.05, secret="presence"), "a claim about whether one person is in the data can now"),
        (Promise(0.01, 0.05, group=4), "a claim about any 4 people together can now"),
    ],
)
def test_the_sentence_says_what_the_claim_is_about(promise: Promise, words: str) -> None:
    with memory(promise) as ledger:
        assert words in ledger.describe_belief()


def test_with_a_tail_the_sentence_says_how_probable_more_is(place: str) -> None:
    with Ledger(place, TAILED, analysts=HALVES) as ledger:
        assert is_accepted(ledger, "alice", GaussianDP(mu=0.1))
        assert "at most 1% sure of a true claim about one person" in ledger.describe_belief()
        assert ledger.describe_belief().endswith("the chance that it becomes more is at most 1 in 1,000,000.")


def test_a_release_without_differential_privacy_is_named_from_then_on(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        assert is_accepted(ledger, "alice", pure(0.5))
        ledger.record_release("adult-k5", "a 5-anonymous table", {"k": 5})
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        (release,) = ledger.list_releases()
        assert (release.name, release.certificate, release.after) == ("adult-k5", {"k": 5}, 1)
        assert ledger.describe_belief() == (
            "From the differentially private answers alone, an attacker who was at most 1% sure of a claim "
            "about one person can now be at most 1.64% sure (promise: 5%). But adult-k5 (a 5-anonymous "
            "table) was published too, without differential privacy: no such bound holds for everything ever "
            "released together."
        )
        ledger.record_release("adult-k9", "a 9-anonymous table")
        assert (
            "adult-k5 (a 5-anonymous table), adult-k9 (a 9-anonymous table) were" in ledger.describe_belief()
        )
        assert ledger.get_total_spent() == pure(0.5)


def test_the_staircase_climbs_to_what_is_believed_now() -> None:
    for promise in (PROMISE, TAILED):
        with memory(promise, alice=1) as ledger:
            for _ in range(30):
                assert is_accepted(ledger, "alice", pure(Fraction(1, 20)))
            every, some = ledger.compute_belief_history(), ledger.compute_belief_history(max_points=7)
            assert [number for number, _ in every] == list(range(31))
            heights = [now.highest for _, now in every]
            assert heights == sorted(heights)
            assert heights[0] == pytest.approx(0.01)
            assert every[-1][1] == ledger.compute_belief()
            assert some == [every[0], *(every[i] for i in range(5, 31, 5))]


def test_reserving_takes_as_many_steps_after_a_thousand_entries() -> None:
    with memory(alice=1) as ledger:
        assert isinstance(ledger.storage, LedgerFile)
        connection = ledger.storage._writer
        assert connection is not None

        def steps() -> int:
            count = 0

            def step() -> int:
                nonlocal count
                count += 1
                return 0

            connection.set_progress_handler(step, 1)
            assert is_accepted(ledger, "alice", pure(Fraction(1, 1000)))
            connection.set_progress_handler(None, 1)
            return count

        assert is_accepted(ledger, "alice", pure(Fraction(1, 1000)))
        early = steps()
        for _ in range(1_000):
            assert is_accepted(ledger, "alice", pure(Fraction(1, 1000)))
        assert early - 10 <= steps() <= early + 10


# what the file holds


def test_the_file_holds_what_it_was_given_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    leaked = "RARE DISEASE of Ada"
    with Ledger(path, PROMISE, analysts=HALVES) as ledger:
        entry = ledger.reserve("alice", "key", SQL, pure(Fraction(1, 2)))
        refusals: list[Callable[[], object]] = [
            lambda: ledger.record_fault(entry, leaked),
            lambda: ledger.settle(entry, b"5", {"rows": {leaked}}),
            lambda: ledger.settle(entry, leaked),  # type: ignore[arg-type]
            lambda: ledger.record_release("name", "description", {"rows": {leaked}}),
        ]
        for refusal in refusals:
            with pytest.raises(InvalidParameterError) as refused:
                refusal()
            assert leaked not in str(refused.value)
        ledger.settle(entry, b"the answer", {"columns": ["n"]})
    for each in tmp_path.iterdir():
        assert leaked.encode() not in each.read_bytes()
    connection = sqlite3.connect(path)
    (row,) = connection.execute("SELECT * FROM entry").fetchall()
    connection.close()
    written = '{"type": "PureDP", "epsilon": "1/2", "relation": "value"}'
    number, _time, *given, process, incident, metadata, answer, own = row
    assert (number, own, incident, metadata, answer) == (1, 1, None, '{"columns": ["n"]}', b"the answer")
    assert given == ["alice", "key", SQL, written, "1/2", "0", "0", "settled"]
    assert f" {os.getpid()} " in process


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", PROMISE) as ledger:
        assert is_accepted(ledger, SOLE_ANALYST, pure(0.1))
        assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}


def test_what_is_committed_is_written_through(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", PROMISE) as ledger, ledger.storage.read_transaction() as connection:
        modes = [
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        ]
    assert modes == ["wal", 2]


def test_entries_are_never_deleted_and_charges_never_change(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path, PROMISE) as ledger:
        assert is_accepted(ledger, SOLE_ANALYST, pure(0.1))
        ledger.record_release("name", "description")
    for statement in ("DELETE FROM entry", "UPDATE entry SET epsilon = '0'", "DELETE FROM release"):
        connection = sqlite3.connect(path)
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            connection.execute(statement)
        connection.close()


# what is not a ledger


@pytest.fixture
def spent_ledger(tmp_path: Path) -> Path:
    """A ledger with some entries."""
    path = tmp_path / "ledger.db"
    with Ledger(path, PROMISE, analysts=HALVES) as ledger:
        for number in range(50):
            ledger.settle(ledger.reserve("alice", f"key {number}", SQL, pure(Fraction(1, 100))), b"5" * 400)
    return path


def refusal(path: Path) -> str:
    """The one sentence, and the way out, with which a file is refused when opened or verified."""
    with pytest.raises(RequestError) as refused, Ledger(path, PROMISE) as ledger:
        ledger.verify()
    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert "\n" not in str(refused.value)
    assert str(path) in refused.value.message
    return refused.value.message


@pytest.mark.parametrize(
    "content", [b"not a database at all", bytes(range(256)) * 64, b"SQLite format 3\x00"]
)
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    assert "is not a ledger of discreet" in refusal(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    tamper(path, "CREATE TABLE account (spent REAL)")
    content = path.read_bytes()
    assert "is not a ledger of discreet" in refusal(path)
    assert path.read_bytes() == content


def test_a_newer_format_is_refused(spent_ledger: Path) -> None:
    tamper(spent_ledger, f"PRAGMA user_version = {FORMAT + 1}")
    told = f"has format {FORMAT + 1}; this version of discreet knows formats up to {FORMAT}"
    assert told in refusal(spent_ledger)


def test_a_guarantee_of_a_newer_kind_is_refused(spent_ledger: Path) -> None:
    written = '\'{"type": "QuantumDP"}\''
    tamper(spent_ledger, "DROP TRIGGER charge_stays", f"UPDATE entry SET guarantee = {written}")
    with Ledger(spent_ledger, PROMISE) as ledger, pytest.raises(RequestError, match="of the kind QuantumDP"):
        ledger.list_entries()


@pytest.mark.parametrize("part", [0.3, 0.5, 0.8])
def test_a_damaged_file_is_refused(part: float, spent_ledger: Path) -> None:
    content = bytearray(spent_ledger.read_bytes())
    start = int(len(content) * part)
    content[start : start + 6000] = b"\xa5" * 6000
    spent_ledger.write_bytes(content)
    assert "is damaged" in refusal(spent_ledger)


def test_a_truncated_file_is_refused(spent_ledger: Path) -> None:
    spent_ledger.write_bytes(spent_ledger.read_bytes()[:8192])
    assert "is damaged" in refusal(spent_ledger)


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (["UPDATE account SET epsilon = '0' WHERE analyst = ''"], "not the sum of everything"),
        (["UPDATE account SET epsilon = '0'"], "what alice has spent is not the sum of the entries"),
        (["UPDATE account SET events = 3"], "entries are missing"),
        (["DROP TRIGGER entry_stays", "DELETE FROM entry WHERE id = 50"], "entries are missing"),
        (["DROP TRIGGER entry_stays", "DELETE FROM entry WHERE id = 7"], "entry 7 was removed"),
        (
            ["DROP TRIGGER charge_stays", "UPDATE entry SET epsilon = '1/1000' WHERE id = 7"],
            "entry 7 was changed",
        ),
        (["UPDATE account SET epsilon = 'much'"], "it holds an invalid number"),
        (["DELETE FROM account WHERE analyst = ''"], "the sum of everything is missing"),
        (["DROP TABLE release", "DROP TABLE account"], "is damaged"),
    ],
)
def test_a_ledger_that_contradicts_itself_is_refused(
    statements: list[str], what: str, spent_ledger: Path
) -> None:
    tamper(spent_ledger, *statements)
    assert what in refusal(spent_ledger)


def test_a_missing_folder_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "is in a folder that does not exist" in refusal(tmp_path / "no" / "ledger.db")
    assert "is a folder" in refusal(tmp_path)


def refusal_without_rights(path: Path, folder_mode: int, file_mode: int | None) -> str:
    """Return the refusal without rights to write there; root, who may write anywhere, becomes nobody."""
    path.parent.chmod(folder_mode)
    if file_mode is not None:
        path.chmod(file_mode)
    script = (
        "import os, sys\n"
        "from discreet.accounting.ledger import Ledger\nfrom discreet.core.errors import RequestError\n"
        "from discreet.belief import Promise\n"
        "if os.getuid() == 0:\n"
        "    os.chdir(os.path.dirname(sys.argv[1]))\n"
        "    os.setgid(65534)\n"
        "    os.setuid(65534)\n"
        "try:\n"
        "    Ledger('ledger.db', Promise(0.01, 0.05))\n"
        "except RequestError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        cwd=path.parent,
    )
    path.parent.chmod(0o700)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("folder", "there"), [(0o555, False), (0o555, True), (0o777, True)])
def test_where_nothing_can_be_written_one_sentence_says_so(
    folder: int, there: bool, spent_ledger: Path
) -> None:
    if not there:
        spent_ledger.unlink()
    told = refusal_without_rights(spent_ledger, folder, 0o444 if there else None)
    assert told.startswith("The ledger ledger.db cannot be written.")
    assert told.count("\n") == 1


def test_a_ledger_that_fails_after_data_was_read_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    monkeypatch.setattr("discreet.accounting.ledger_file.PATIENCE", 0.05)
    with Ledger(path, PROMISE) as ledger:
        entry = ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
        busy = sqlite3.connect(path, isolation_level=None)
        busy.execute("BEGIN IMMEDIATE")
        with pytest.raises(EngineFault, match="the charge stays"):
            ledger.settle(entry, b"5")
        with pytest.raises(RequestError, match="is kept busy by another process"):
            ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
        busy.execute("ROLLBACK")
        busy.close()
        assert ledger.get_total_spent() == pure(0.5)
        assert ledger.settle(entry, b"5").state is EntryState.SETTLED
