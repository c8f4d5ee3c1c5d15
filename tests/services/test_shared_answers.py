"""Analysts who share answers: what one measured is free for all, and belief is stated of all answers.

Where they do not, nothing that one of them sees depends on what another asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.core.errors import BudgetError, RequestError
from discreet.rendering.ledger_view import ledger_to_json
from discreet.services.count_publication import make_offer, release_counts
from discreet.services.count_requests import TabulateRequest
from discreet.services.curator import Curator
from discreet.services.serving.query_timeouts import Deadlines
from discreet.services.tabulate import plan_table_release
from tests.patience import PATIENCE
from tests.services.people_table import read, write_policy
from tests.services.test_measurement_store import BY_SEX, SPELLINGS
from tests.services.test_stored_slices import FEMALE, MALE, find_widths

ANALYSTS = {"alice": {"share": "50%"}, "bob": {"share": "50%"}}
TABULATE = TabulateRequest(table="people", columns=("sex", "ward"), epsilon=0.5)
Pair = tuple[Curator, Curator]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.table(
        {
            "sex": (["m"] * 4 + ["f"] * 4) * 125,
            "ward": ["d", "a", "c", "b"] * 250,
            "age": [*range(100)] * 10,
            "height": [*range(50, 250)] * 5,
        }
    )


@contextmanager
def open_pair(rows: pa.Table, ledger: Path | str = ":memory:", **changes: Any) -> Iterator[Pair]:
    policy = write_policy(analysts=ANALYSTS, **changes)
    with Curator(policy, {"people": rows}, ledger=ledger, analyst="alice") as alice:
        bob = Curator.from_parts(alice.policy, ledger=alice.ledger, engine=alice._engine, analyst="bob")
        yield alice, bob


@pytest.fixture
def sharing(rows: pa.Table) -> Iterator[Pair]:
    with open_pair(rows, share_answers=True) as pair:
        yield pair


def get_spent(curator: Curator) -> float:
    return float(curator.budget.spent.epsilon)  # type: ignore[union-attr]


# -- Shared -------------------------------------------------------------------------------------------------


def test_what_one_measured_is_free_for_the_other_in_every_spelling(sharing: Pair) -> None:
    alice, bob = sharing
    first = alice.ask(BY_SEX, epsilon=0.5)
    assert bob.plan(BY_SEX, epsilon=0.5).repeated
    for spelling in SPELLINGS:
        answer = bob.ask(spelling, epsilon=0.5)
        assert (answer.epsilon, answer.entries) == (0, (1,))
    assert read(bob.ask(BY_SEX, free=True)) == read(first)
    assert len(alice.ledger.list_entries()) == 1


def test_who_measures_pays_from_the_own_share(sharing: Pair) -> None:
    alice, bob = sharing
    whole = alice.budget.left.epsilon  # type: ignore[union-attr]
    alice.ask(BY_SEX, epsilon=0.5)
    bob.ask("SELECT ward, COUNT(*) FROM people GROUP BY ward", epsilon=0.25)
    alice.ask("SELECT ward, COUNT(*) FROM people GROUP BY ward", epsilon=0.25)
    assert (get_spent(alice), get_spent(bob)) == (0.5, 0.25)
    assert alice.budget.left.epsilon == whole - Fraction(1, 2)  # type: ignore[union-attr]
    with pytest.raises(BudgetError):
        bob.ask("SELECT SUM(age) FROM people", epsilon=float(whole))


def test_belief_is_that_of_all_answers_for_every_analyst(sharing: Pair) -> None:
    alice, bob = sharing
    alice.ask(BY_SEX, epsilon=0.5)
    answer = bob.ask("SELECT SUM(age) FROM people", epsilon=0.5)
    whole = alice.ledger.describe_belief()
    assert not whole.startswith("From the answers to")
    for curator in sharing:
        assert curator.budget.sentence == whole
        assert curator.budget.belief == alice.ledger.compute_belief()
        assert curator.plan(BY_SEX, epsilon=0.5).belief_before == alice.ledger.compute_belief()
        assert (
            ledger_to_json(curator.ledger, curator.analyst, belief_scope=curator.analyst)["sentence"] == whole
        )
    assert answer.sentence == whole


def test_entries_are_numbered_over_the_whole_ledger(sharing: Pair) -> None:
    alice, bob = sharing
    alice.ask(BY_SEX, epsilon=0.1)
    both = bob.ask(BY_SEX, epsilon=0.12)
    assert (both.epsilon, both.entries) == (0.12, (1, 2))
    listed: Any = ledger_to_json(bob.ledger, "bob")["entries"]
    assert [each["id"] for each in listed] == [2]
    assert alice.ask(BY_SEX, epsilon=0.12).entries == (1, 2)


def test_repeated_measurements_of_several_analysts_are_one_mean(sharing: Pair, rows: pa.Table) -> None:
    alice, bob = sharing
    bob.ask("SELECT SUM(age) FROM people", epsilon=0.1)  # so that both have an entry of their own first
    alice.ask(BY_SEX, epsilon=0.1)
    mean = bob.ask(BY_SEX, epsilon=0.12)
    again = alice.ask(BY_SEX, epsilon=0.12)
    assert (again.epsilon, again.intervals, read(again)) == (0, mean.intervals, read(mean))
    with open_pair(rows) as (alone, _):
        alone.ask(BY_SEX, epsilon=0.1)
        alone.ask(BY_SEX, epsilon=0.12)
        expected = alone.plan(BY_SEX, epsilon=0.12).offers[0].errors
    assert alice.plan(BY_SEX, epsilon=0.12).offers[0].errors == expected, "as many looks as those of one"


def test_a_condition_is_a_slice_of_what_another_measured(sharing: Pair) -> None:
    alice, bob = sharing
    alice.ask(FEMALE, epsilon=0.5)
    assert (bob.plan(MALE, epsilon=0.5).cost, bob.ask(MALE, epsilon=0.5).epsilon) == (0, 0)


def test_what_any_of_them_was_shown_makes_later_intervals_simultaneous(sharing: Pair) -> None:
    alice, bob = sharing
    (width,) = find_widths(alice.ask(FEMALE, epsilon=0.5))
    unseen = bob.ask(MALE, epsilon=0.5)
    assert find_widths(unseen) == {width}
    top = alice.ask("SELECT COUNT(*) AS n FROM people WHERE ward = 'a' AND sex = 'm'", epsilon=0.2)
    assert (top.epsilon, top.interval_kind) == (0, {"n": "all_rows"}), "bob saw it, and may have told"
    assert max(find_widths(top)) > width


def test_whoever_asks_the_same_meanwhile_waits_and_pays_nothing(sharing: Pair) -> None:
    alice, bob = sharing
    begun, finish, charged = threading.Event(), threading.Event(), list[float]()

    def hold(work: Callable[[], Any]) -> Any:
        begun.set()
        assert finish.wait(PATIENCE)
        return work()

    first = threading.Thread(
        target=lambda: charged.append(alice.ask(BY_SEX, epsilon=0.5, run_with_deadline=hold).epsilon)
    )
    first.start()
    assert begun.wait(PATIENCE)
    second = threading.Thread(
        target=lambda: charged.append(bob.ask(f"{BY_SEX} LIMIT 1", epsilon=0.5).epsilon)
    )
    second.start()
    finish.set()
    first.join()
    second.join()
    assert sorted(charged) == [0, 0.5]
    assert len(alice.ledger.list_entries()) == 1


def test_a_table_of_counts_is_shared_too(sharing: Pair) -> None:
    alice, bob = sharing
    first = release_counts(alice, plan_table_release(alice, TABULATE))
    assert make_offer(bob, plan_table_release(bob, TABULATE)).entry == 1
    again = release_counts(bob, plan_table_release(bob, TABULATE))
    assert (again.repeated, again.entry, get_spent(bob)) == (True, 1, 0)
    assert again.rows.equals(first.rows)


def test_sharing_that_begins_later_opens_former_entries_and_names_all_answers(
    tmp_path: Path, rows: pa.Table
) -> None:
    ledger = tmp_path / "ledger.db"
    with open_pair(rows, ledger) as (alice, bob):
        alice.ask(BY_SEX, epsilon=0.5)
        bob.ask("SELECT SUM(age) FROM people", epsilon=0.5)
        assert bob.budget.sentence.startswith("From the answers to bob alone")
    with open_pair(rows, ledger, share_answers=True) as (_, bob):
        answer = bob.ask(BY_SEX, epsilon=0.5)
        assert (answer.epsilon, answer.entries) == (0, (1,))
        assert answer.sentence == bob.ledger.describe_belief()
        bob.ledger.verify()


def test_sharing_that_ends_leaves_the_belief_of_all_answers(tmp_path: Path, rows: pa.Table) -> None:
    """Bob was shown what alice paid for: no sentence about bob's answers alone holds any more."""
    ledger = tmp_path / "ledger.db"
    with open_pair(rows, ledger, share_answers=True) as (alice, bob):
        alice.ask(BY_SEX, epsilon=0.5)
        bob.ask(BY_SEX, epsilon=0.5)
    with open_pair(rows, ledger) as (alice, bob):
        assert bob.plan(BY_SEX, epsilon=0.5).cost == 0.5
        assert (alice.plan(BY_SEX, epsilon=0.5).cost, alice.ask(BY_SEX, epsilon=0.5).entries) == (0, (1,))
        assert bob.budget.sentence == alice.budget.sentence == alice.ledger.describe_belief()
        assert bob.plan(BY_SEX, epsilon=0.5).belief_before == alice.ledger.compute_belief()
        assert bob.plan([BY_SEX, FEMALE], epsilon=0.5).belief_before == alice.ledger.compute_belief()
        answer = bob.ask(BY_SEX, epsilon=0.5)
        assert (answer.epsilon, answer.entries) == (0.5, (2,))
        bob.ledger.verify()


def test_what_was_shared_and_shown_stays_shown_when_sharing_ends(tmp_path: Path, rows: pa.Table) -> None:
    ledger = tmp_path / "ledger.db"
    with open_pair(rows, ledger, share_answers=True) as (alice, bob):
        (width,) = find_widths(alice.ask(FEMALE, epsilon=0.5))
        bob.ask(MALE, epsilon=0.5)
    with open_pair(rows, ledger) as (alice, _):
        top = alice.ask(f"{MALE} ORDER BY n DESC LIMIT 1", epsilon=0.5)
        assert (top.epsilon, max(find_widths(top)) > width) == (0, True)


# -- Not shared ---------------------------------------------------------------------------------------------

QUESTIONS = (
    BY_SEX,
    FEMALE,
    MALE,
    "SELECT sex, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY sex",
    "SELECT COUNT(*) AS n FROM people WHERE ward = 'a' AND sex = 'm'",
    "SELECT ward, MEDIAN(age) AS m FROM people GROUP BY ward ORDER BY m LIMIT 1",
    "SELECT AVG(height) AS h FROM people WHERE unknown = 1",
)


def observe(curator: Curator) -> list[object]:
    """Return everything that an analyst sees of some questions, but for the noise."""
    deadlines, found = Deadlines(policy=curator.policy), list[object]()
    for sql in QUESTIONS:
        for options in ({"epsilon": 0.1}, {"within": 40}, {"epsilon": 0.1, "free": True}, {"epsilon": 1}):
            try:
                plan = curator.plan(sql, **options)
                found += [plan.to_json(), plan.repeated, deadlines.compute_fixed_time(plan.query_plan)]
                answer = curator.ask(plan)
                found += [answer.epsilon, answer.entries, answer.sentence, answer.cost_sentence]
                found += [answer.interval_kind, answer.table.schema, repr(curator.budget)]
            except (RequestError, BudgetError) as refusal:
                found += [type(refusal), refusal.message, refusal.hint]
    publication = plan_table_release(curator, TABULATE)
    found.append(make_offer(curator, publication).entry)
    with suppress(BudgetError):
        released = release_counts(curator, publication)
        found += [released.entry, released.repeated, released.sentence]
    found.append(
        ledger_to_json(curator.ledger, curator.analyst, belief_scope=curator.belief_scope)["sentence"]
    )
    return found


def test_nothing_that_an_analyst_sees_depends_on_what_another_asked(rows: pa.Table) -> None:
    with open_pair(rows) as (_, alone):
        expected = observe(alone)
    with open_pair(rows) as (busy, beside):
        observe(busy)
        with suppress(BudgetError):
            busy.ask("SELECT SUM(age) FROM people", epsilon=3)
        assert observe(beside) == expected
