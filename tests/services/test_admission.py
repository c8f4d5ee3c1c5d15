"""Who may begin is decided by fixed times alone."""

from __future__ import annotations

import pytest

from discreet.core.errors import BusyError
from discreet.services.serving.admission import Admission


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_slot_is_taken_until_the_fixed_time_and_not_until_the_work_ends(clock: Clock) -> None:
    admission = Admission(slots=1, longest_wait=1, clock=clock)
    admission.book("alice", 8)
    clock.now = 6.5  # whatever has become of alice's work by now
    with pytest.raises(BusyError) as refusal:
        admission.book("bob", 8)
    assert refusal.value.seconds == 2
    clock.now = 7.0
    assert admission.book("bob", 8).begins == 8.0


def test_one_analyst_is_in_turn_and_takes_no_slot_from_another(clock: Clock) -> None:
    admission = Admission(slots=2, longest_wait=100, clock=clock)
    assert [admission.book("alice", 4).begins for _ in range(3)] == [0.0, 4.0, 8.0]
    assert admission.book("bob", 4).begins == 0.0


def test_what_was_not_charged_gives_its_slot_back(clock: Clock) -> None:
    admission = Admission(slots=1, longest_wait=1, clock=clock)
    admission.cancel("alice", admission.book("alice", 60))
    assert admission.book("bob", 60).begins == 0.0


def test_what_others_queue_behind_stays_booked(clock: Clock) -> None:
    admission = Admission(slots=1, longest_wait=10, clock=clock)
    first = admission.book("alice", 5)
    assert admission.book("bob", 5).begins == 5.0
    admission.cancel("alice", first)
    assert admission.book("carol", 5).begins == 10.0
