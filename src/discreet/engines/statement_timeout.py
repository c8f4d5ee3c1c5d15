"""Statement timeout: stop a statement that takes too long, by the engine's own means.

The stop call is repeated until the statement ends, because an engine that has not started yet ignores the
first one. The timeout is a constant, the same for all data, so a fault that comes from it shows only that the
statement was slow. What was charged stays charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

DEFAULT_SECONDS = 600.0
RETRY_SECONDS = 0.2


@contextmanager
def stop_after_timeout(stop: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call `stop` repeatedly once the body of this context has run for so many seconds."""
    done = Event()

    def watch() -> None:
        waiting = seconds
        while not done.wait(waiting):
            with suppress(Exception):  # the driver may have ended meanwhile
                stop()
            waiting = RETRY_SECONDS

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
