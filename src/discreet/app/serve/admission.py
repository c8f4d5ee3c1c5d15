"""Admission: whether a question may begin in time, decided from fixed times alone before it is charged.

Slots       so many questions are worked on at once as the deadlines leave room for. A slot is booked from
            when a question begins until its plan's fixed time, whenever the work on it ends: were it free
            sooner, one analyst's refusal would tell how long another's question took.
In turn     one analyst's questions are booked one after the other.
Queue       a question that begins within LONGEST_WAIT waits for it. One that does not is refused at once,
            for nothing, with the time after which to ask again: waiting costs neither budget nor a fault.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.core.errors import BusyError

LONGEST_WAIT = 30.0


def default_slots() -> int:
    """Return the number of questions that this machine works on at once: one for each core, and two."""
    return max(2, os.cpu_count() or 2)


@dataclass(frozen=True, kw_only=True)
class Booking:
    """When a question begins, and until when its slot is taken."""

    slot: int
    begins: float
    ends: float


@dataclass(kw_only=True)
class Admission:
    """The slots of one server.

    >>> admission = Admission(slots=1, clock=lambda: 0.0)
    >>> admission.book("alice", 20).begins, admission.book("bob", 20).begins
    (0.0, 20.0)
    >>> try:
    ...     admission.book("bob", 20)
    ... except BusyError as busy:
    ...     print(busy.hint)
    Ask again in 40 seconds; nothing was charged.
    """

    slots: int = field(default_factory=default_slots)
    longest_wait: float = LONGEST_WAIT
    clock: Callable[[], float] = time.monotonic
    _ends: list[float] = field(default_factory=list)
    _analysts: dict[str, float] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._ends = [-math.inf] * self.slots

    def book(self, analyst: str, seconds: float) -> Booking:
        """Book a slot for so long, or raise `BusyError` where none begins in time."""
        with self._guard:
            now = self.clock()
            turn = max(now, self._analysts.get(analyst, -math.inf))
            # of the slots that are free by then the one that is free last, so that none stands idle
            free = [place for place, end in enumerate(self._ends) if end <= turn]
            slot = max(free, key=self._ends.__getitem__) if free else _first(self._ends)
            begins = max(turn, self._ends[slot])
            if begins - now > self.longest_wait:
                raise BusyError.for_delay(begins - now)
            booking = Booking(slot=slot, begins=begins, ends=begins + seconds)
            self._ends[slot] = self._analysts[analyst] = booking.ends
            return booking

    def cancel(self, analyst: str, booking: Booking) -> None:
        """Give back what was booked for a question that was not charged, unless others queue behind it."""
        with self._guard:
            if self._ends[booking.slot] == self._analysts.get(analyst) == booking.ends:
                self._ends[booking.slot] = self._analysts[analyst] = max(
                    booking.begins, min(self.clock(), booking.ends)
                )


def _first(ends: list[float]) -> int:
    return min(range(len(ends)), key=ends.__getitem__)
