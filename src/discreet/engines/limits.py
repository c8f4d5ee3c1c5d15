"""Limits of time: a statement that takes too long is stopped, by whatever the engine has for it.

It is stopped again and again until it ends: an engine that had not begun yet would let a single call pass.
How long is a constant, the same for all data, so that where a fault comes from time it tells no more than
that the statement was slow; what it was charged stays charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

SECONDS = 600.0
AGAIN = 0.2


@contextmanager
def limited(stop: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call `stop` once what is done in here has taken so long."""
    done = Event()

    def watch() -> None:
        waiting = seconds
        while not done.wait(waiting):
            with suppress(Exception):  # of a driver's, which may have ended meanwhile
                stop()
            waiting = AGAIN

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
