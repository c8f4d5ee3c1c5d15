"""The job queue: long work, one job after the other in a thread, stored so that a restart loses none.

Cancel      One lock decides if a job is cancelled or reaches its charging stage first: a cancelled job has
            cost nothing, and a charged job is not cancelled.
Shutdown    Jobs of a server that stops have failed, and budget reserved for them counts as spent. A running
            job that does not finish within the grace period is interrupted and cleans up. One that cannot be
            interrupted, for instance inside an engine call, is abandoned when the process exits.
Other       Jobs of other servers with the same users are listed with their stage; they are cancelled at their
            own server.
Results     on real data are held in memory, for the custodian; a restart forgets them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress

from discreet.app.progress import Tell
from discreet.app.serve.job import (
    CancelledError,
    FullError,
    Job,
    JobState,
    Outcome,
    StoppedError,
    TooLateError,
    Work,
)
from discreet.app.serve.job_book import JobBook
from discreet.app.users.storage import UserStorage
from discreet.core.errors import DiscreetError
from discreet.core.randomness import Randomness
from discreet.engines.engine_faults import run_guarded

MOST_FOUND = 50
MOST_OPEN = 5
GRACE = 2.0
"""The grace period for a job to finish, and after an interrupt to clean up, in seconds."""
MOMENT = 0.5
THREAD = "discreet-jobs"


class Interrupted(BaseException):
    """Raised within a running job when the server stops; no handler of `Exception` catches it."""


class Jobs:
    """The jobs of a server, and those in its store."""

    def __init__(self, file: UserStorage) -> None:
        self._book = JobBook(file)
        self._jobs: dict[str, Job] = {}
        self._guard = threading.RLock()
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD)
        self._submitted: list[Future[None]] = []
        self._working: int | None = None

    def start(self, user: str, work: Work) -> Job:
        """Queue a job; raise `QueueFullError` if too many are open."""
        with self._guard:
            if sum(not each.over for each in self._jobs.values()) >= MOST_OPEN:
                raise FullError(
                    f"jobs: the queue is full: {MOST_OPEN} jobs are open.", hint="Start it later."
                )
            job = Job(
                id=f"{Randomness().draw_bits(128):032x}",
                user=user,
                kind=work.kind,
                name=work.name,
                stages=work.stages,
                form=work.form,
            )
            self._book.add(job)
            self._jobs[job.id] = job
            over = [each.id for each in self._jobs.values() if each.over]
            for old in over[: max(0, len(self._jobs) - MOST_FOUND)]:
                del self._jobs[old]
            self._submitted = [each for each in self._submitted if not each.done()]
            self._submitted.append(self._thread.submit(self._run, job, work))
        return job

    def all(self) -> list[Job]:
        """Return all jobs, oldest first."""
        with self._guard:
            self._book.bury()
            return [self._jobs.get(each.id, each) for each in self._book.all()]

    def find(self, name: str) -> Job | None:
        with self._guard:
            if name in self._jobs:
                return self._jobs[name]
            self._book.bury()
            return self._book.find(name)

    def cancel(self, job: Job) -> None:
        """Cancel a job that is not charged yet; a running one ends at its next stage."""
        with self._guard:
            if not job.over and job.id not in self._jobs:
                raise TooLateError("jobs: this job runs on another server.", hint="Cancel it there.")
            if job.over or job.bound:
                what = "is finished" if job.over else "has been charged and will be finished"
                raise TooLateError(f"jobs: this job {what}.", hint="GET /api/jobs shows how it ends.")
            job.cancelled = True
            if job.state is JobState.WAITING:
                job.leave()
                self._book.note(job)

    def close(self) -> None:
        """Stop the queue: waiting jobs fail, a running one ends at its next stage or is interrupted."""
        with self._guard:
            self._stopped.set()
            unfinished = [each for each in self._jobs.values() if not each.over]
        self._thread.shutdown(wait=False, cancel_futures=True)
        begun = [each for each in self._submitted if not each.cancelled()]
        if wait(begun, timeout=GRACE).not_done:
            with self._guard:
                if self._working is not None:
                    _interrupt(self._working)
            wait(begun, timeout=GRACE)
        for job in unfinished:
            with self._guard:
                if not job.over:
                    job.fail(StoppedError())
            self._book.note(job)

    def _run(self, job: Job, work: Work) -> None:
        with self._guard:
            if job.over or self._stopped.is_set():
                return
            job.state, self._working = JobState.RUNNING, threading.get_ident()
            self._book.note(job)
        ended = self._ended(job, work)
        with self._guard:
            self._working = None
            if job.over:
                return
            ended()
        self._book.note(job)

    def _ended(self, job: Job, work: Work) -> Callable[[], None]:
        """Run the work; return the function that records its end on the job."""
        try:
            outcome = run_guarded(lambda: self._done(job, work))
        except CancelledError:
            return job.leave
        except DiscreetError as error:
            failure = error
            return lambda: job.fail(failure)
        except Interrupted:
            return lambda: job.fail(StoppedError())
        return lambda: job.finish(outcome)

    def _done(self, job: Job, work: Work) -> Outcome:
        with self._book.folder(job) as folder:
            return work.do(self._tell(job, work), folder)

    def _tell(self, job: Job, work: Work) -> Tell:
        def tell(text: str, share: float | None = None) -> None:
            with self._guard:
                if self._stopped.is_set():
                    raise StoppedError
                if job.cancelled:
                    raise CancelledError("jobs: this job was cancelled.")
                before = job.stage
                job.reach(work, text, share)
            if job.stage != before:
                with suppress(DiscreetError):  # progress is not essential: the work goes on
                    self._book.note(job)

        return tell


def is_left_behind() -> bool:
    """Return True if a job still runs that could not be interrupted."""
    working = [each for each in threading.enumerate() if each.name.startswith(THREAD)]
    for each in working:
        each.join(MOMENT)
    return any(each.is_alive() for each in working)


def _interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))
