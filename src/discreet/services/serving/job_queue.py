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
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress

from discreet.core.engine_faults import run_guarded
from discreet.core.errors import DiscreetError
from discreet.core.randomness import Randomness
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import (
    Job,
    JobCancelledError,
    JobOutcome,
    JobState,
    JobStore,
    JobWork,
    NotCancellableError,
    QueueFullError,
    ServerStoppedError,
)
from discreet.services.users.user_storage import UserStorage

MAX_JOBS_IN_MEMORY = 50
MAX_OPEN_JOBS = 5
GRACE_PERIOD = 2.0
"""The grace period for a job to finish, and after an interrupt to clean up, in seconds."""
JOIN_TIMEOUT = 0.5
THREAD_NAME = "discreet-jobs"


class JobInterrupted(BaseException):
    """Raised within a running job when the server stops; no handler of `Exception` catches it."""


class JobQueue:
    """The jobs of a server, and those in its store."""

    def __init__(self, storage: UserStorage) -> None:
        self._store = JobStore(storage)
        self._store.fail_orphans()
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._stop_event = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME)
        self._futures: list[Future[None]] = []
        self._working_thread: int | None = None

    def submit(self, user: str, work: JobWork) -> Job:
        """Queue a job; raise `QueueFullError` if too many are open."""
        with self._lock:
            if sum(not each.is_over for each in self._jobs.values()) >= MAX_OPEN_JOBS:
                raise QueueFullError(
                    f"jobs: the queue is full: {MAX_OPEN_JOBS} jobs are open.", hint="Start it later."
                )
            job = Job(
                id=f"{Randomness().draw_bits(128):032x}",
                user=user,
                kind=work.kind,
                name=work.name,
                stages=work.stages,
                form=work.form,
            )
            self._store.add(job)
            self._jobs[job.id] = job
            over = [each.id for each in self._jobs.values() if each.is_over]
            for old in over[: max(0, len(self._jobs) - MAX_JOBS_IN_MEMORY)]:
                del self._jobs[old]
            self._futures = [each for each in self._futures if not each.done()]
            self._futures.append(self._thread.submit(self._run_job, job, work))
        return job

    def list_jobs(self) -> list[Job]:
        """Return all jobs, oldest first."""
        with self._lock:
            self._store.fail_orphans()
            return [self._jobs.get(each.id, each) for each in self._store.list_jobs()]

    def find_job(self, job_id: str) -> Job | None:
        with self._lock:
            if job_id in self._jobs:
                return self._jobs[job_id]
            self._store.fail_orphans()
            return self._store.find_job(job_id)

    def cancel(self, job: Job) -> None:
        """Cancel a job that is not charged yet; a running one ends at its next stage."""
        with self._lock:
            if not job.is_over and job.id not in self._jobs:
                raise NotCancellableError("jobs: this job runs on another server.", hint="Cancel it there.")
            if job.is_over or job.is_charged:
                what = "is finished" if job.is_over else "has been charged and will be finished"
                raise NotCancellableError(f"jobs: this job {what}.", hint="GET /api/jobs shows how it ends.")
            job.is_cancelled = True
            if job.state is JobState.WAITING:
                job.mark_cancelled()
                self._store.update(job)

    def close(self) -> None:
        """Stop the queue: waiting jobs fail, a running one ends at its next stage or is interrupted."""
        with self._lock:
            self._stop_event.set()
            unfinished = [each for each in self._jobs.values() if not each.is_over]
        self._thread.shutdown(wait=False, cancel_futures=True)
        begun = [each for each in self._futures if not each.cancelled()]
        if wait(begun, timeout=GRACE_PERIOD).not_done:
            with _hide_stray_interruptions():
                with self._lock:
                    if self._working_thread is not None:
                        _interrupt_thread(self._working_thread)
                wait(begun, timeout=GRACE_PERIOD)
        for job in unfinished:
            with self._lock:
                if not job.is_over:
                    job.mark_failed(ServerStoppedError())
            self._store.update(job)

    def _run_job(self, job: Job, work: JobWork) -> None:
        with self._lock:
            if job.is_over or self._stop_event.is_set():
                return
            job.state, self._working_thread = JobState.RUNNING, threading.get_ident()
            self._store.update(job)
        ended = self._run_to_outcome(job, work)
        with self._lock:
            self._working_thread = None
            if job.is_over:
                return
            ended()
        self._store.update(job)

    def _run_to_outcome(self, job: Job, work: JobWork) -> Callable[[], None]:
        """Run the work; return the function that records its end on the job."""
        try:
            outcome = run_guarded(lambda: self._run_in_folder(job, work))
        except JobCancelledError:
            return job.mark_cancelled
        except DiscreetError as error:
            failure = error
            return lambda: job.mark_failed(failure)
        except JobInterrupted:
            return lambda: job.mark_failed(ServerStoppedError())
        return lambda: job.mark_done(outcome)

    def _run_in_folder(self, job: Job, work: JobWork) -> JobOutcome:
        with self._store.open_folder(job) as folder:
            return work.run(self._make_progress_callback(job, work), folder)

    def _make_progress_callback(self, job: Job, work: JobWork) -> ProgressCallback:
        def report_progress(message: str, fraction: float | None = None) -> None:
            with self._lock:
                if self._stop_event.is_set():
                    raise ServerStoppedError
                if job.is_cancelled:
                    raise JobCancelledError("jobs: this job was cancelled.")
                before = job.stage
                job.record_stage(work, message, fraction)
            if job.stage != before:
                with suppress(DiscreetError):  # progress is not essential: the work goes on
                    self._store.update(job)

        return report_progress


def has_job_threads() -> bool:
    """Return True if threads of jobs are left; a job that can be interrupted has ended by then."""
    working = [each for each in threading.enumerate() if each.name.startswith(THREAD_NAME)]
    for each in working:
        each.join(JOIN_TIMEOUT)
    return bool(working)


@contextmanager
def _hide_stray_interruptions() -> Iterator[None]:
    """Keep Python from printing an interruption that arrives in a thread which the job is just starting.

    CPython lets a thread that has not begun yet have the number of the thread that starts it, and finds it
    first by that number. The job itself then goes on, and is abandoned when the process exits.
    """
    before = sys.unraisablehook
    sys.unraisablehook = lambda each: None if each.exc_type is JobInterrupted else before(each)
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt_thread(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(JobInterrupted))
