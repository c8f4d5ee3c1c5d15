"""Long work: one job after the other in a thread, each with what it is doing now, until the process ends.

What a job finds is computed on real data, and is for the custodian alone; it is kept in memory alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from discreet.core.errors import DiscreetError, RequestError
from discreet.engines.faults import guarded

Tell = Callable[[str], None]
MOST = 50
MOST_WAITING = 5


class JobState(StrEnum):
    """How far a job came."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass
class Job:
    """One piece of work: `progress` says what it does now, `found` or `error` what came of it."""

    id: int
    name: str
    state: JobState = JobState.WAITING
    progress: str = ""
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))
    found: object = None
    error: DiscreetError | None = None

    @property
    def over(self) -> bool:
        return self.state not in (JobState.WAITING, JobState.RUNNING)


class StoppedError(RequestError):
    """The server ends, and its jobs with it."""


class Jobs:
    """The jobs of a process; the last ones are kept."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._guard = threading.Lock()
        self._stopped = threading.Event()
        self._last = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="discreet-jobs")

    def start(self, name: str, work: Callable[[Tell], object]) -> Job:
        """Take on a job: `work` tells what it does, and returns what it found."""
        with self._guard:
            if sum(not each.over for each in self._jobs.values()) >= MOST_WAITING:
                raise RequestError(f"jobs: {MOST_WAITING} are waiting already.", hint="Start it later.")
            self._last += 1
            job = self._jobs[self._last] = Job(id=self._last, name=name)
            for old in [each for each in self._jobs.values() if each.over][: max(0, len(self._jobs) - MOST)]:
                del self._jobs[old.id]
        self._thread.submit(self._run, job, work)
        return job

    def all(self) -> list[Job]:
        with self._guard:
            return list(self._jobs.values())

    def find(self, number: int) -> Job | None:
        with self._guard:
            return self._jobs.get(number)

    def close(self) -> None:
        """What has not begun never does; what runs ends when it next tells what it does."""
        self._stopped.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job, work: Callable[[Tell], object]) -> None:
        def tell(text: str) -> None:
            if self._stopped.is_set():
                raise StoppedError("The server was stopped.", hint="Start the job again.")
            job.progress = text

        job.state = JobState.RUNNING
        try:
            job.found = guarded(lambda: work(tell))
            job.state = JobState.DONE
        except DiscreetError as error:
            job.error = error
            job.state = JobState.STOPPED if isinstance(error, StoppedError) else JobState.FAILED
