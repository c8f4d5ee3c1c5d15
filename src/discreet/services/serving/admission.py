"""Admission control: decide from fixed times alone, before any charge, if a question can begin in time.

Slots       A fixed number of questions is computed at once. A slot is booked from the start of a question to
            its plan's fixed time, even if the work ends sooner: otherwise one analyst's refusal would reveal
            how long another's question took.
In turn     The questions of one analyst are booked one after the other.
Queue       A question that can begin within LONGEST_WAIT waits. Any other is refused at once and free of
            charge, with the time after which to ask again.
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
    """Return the number of questions computed at once: one per core, at least two."""
    return max(2, os.cpu_count() or 2)


@dataclass(frozen=True, kw_only=True)
class Booking:
    """A booked slot: its number, and the times at which the question begins and the slot is free."""

    slot: int
    begins: float
    ends: float


@dataclass(kw_only=True)
class Admission:
    """The slots of one server and their bookings.

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
    _slot_ends: list[float] = field(default_factory=list)
    _analyst_ends: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._slot_ends = [-math.inf] * self.slots

    def book(self, analyst: str, seconds: float) -> Booking:
        """Book a slot for that many seconds; raise `BusyError` if none is free in time."""
        with self._lock:
            now = self.clock()
            turn = max(now, self._analyst_ends.get(analyst, -math.inf))
            # Of the free slots, take the one that became free last: slots idle for longer stay open.
            free = [place for place, end in enumerate(self._slot_ends) if end <= turn]
            slot = (
                max(free, key=self._slot_ends.__getitem__) if free else _find_earliest_slot(self._slot_ends)
            )
            begins = max(turn, self._slot_ends[slot])
            if begins - now > self.longest_wait:
                raise BusyError.for_delay(begins - now)
            booking = Booking(slot=slot, begins=begins, ends=begins + seconds)
            self._slot_ends[slot] = self._analyst_ends[analyst] = booking.ends
            return booking

    def cancel(self, analyst: str, booking: Booking) -> None:
        """Release the booking of a question that was not charged, unless others queue behind it."""
        with self._lock:
            if self._slot_ends[booking.slot] == self._analyst_ends.get(analyst) == booking.ends:
                self._slot_ends[booking.slot] = self._analyst_ends[analyst] = max(
                    booking.begins, min(self.clock(), booking.ends)
                )


def _find_earliest_slot(slot_ends: list[float]) -> int:
    return min(range(len(slot_ends)), key=slot_ends.__getitem__)
