"""Long work: one job after the other in a thread, kept in the file of users, so that a restart forgets none.

Cancelled   Whether a job is cancelled or comes to its binding stage first is decided under one lock: what is
            cancelled has cost nothing, and what has cost something is not cancelled.
Ended       Jobs of a server that ends have failed, and what was reserved for them counts as spent.
Found       What a job finds on real data is held in memory, for the custodian; a restart forgets it.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from discreet.app.commands.progress import Tell
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
from discreet.app.users.user_file import UserFile
from discreet.core.errors import DiscreetError
from discreet.core.randomness import Randomness
from discreet.engines.faults import guarded

MOST_FOUND = 50
MOST_OPEN = 5


class Jobs:
    """The jobs of a server, and those that its file of users remembers."""

    def __init__(self, file: UserFile) -> None:
        self._book = JobBook(file)
        self._jobs: dict[str, Job] = {}
        self._guard = threading.RLock()
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="discreet-jobs")
        self._book.bury()

    def start(self, user: str, work: Work) -> Job:
        """Take on a job."""
        with self._guard:
            if sum(not each.over for each in self._jobs.values()) >= MOST_OPEN:
                raise FullError(f"jobs: {MOST_OPEN} are waiting already.", hint="Start it later.")
            job = Job(
                id=f"{Randomness().bits(128):032x}",
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
        self._thread.submit(self._run, job, work)
        return job

    def all(self) -> list[Job]:
        """Every job, the first one first."""
        with self._guard:
            return [self._jobs.get(each.id, each) for each in self._book.all()]

    def find(self, name: str) -> Job | None:
        with self._guard:
            return self._jobs.get(name) or self._book.find(name)

    def cancel(self, job: Job) -> None:
        """Let it end before it costs anything; one that runs ends when it comes to its next stage."""
        with self._guard:
            if job.over or job.bound or job.id not in self._jobs:
                what = "is over" if job.over else "has been charged, and is finished"
                raise TooLateError(f"jobs: this one {what}.", hint="GET /api/jobs tells how it ends.")
            job.cancelled = True
            if job.state is JobState.WAITING:
                job.leave()
                self._book.note(job)

    def close(self) -> None:
        """What has not begun never does; what runs ends when it next tells what it does."""
        self._stopped.set()
        self._thread.shutdown(wait=True, cancel_futures=True)
        for job in self._jobs.values():
            if not job.over:
                job.fail(StoppedError())
                self._book.note(job)

    def _run(self, job: Job, work: Work) -> None:
        with self._guard:
            if job.over:
                return
            job.state = JobState.RUNNING
            self._book.note(job)
        try:
            job.finish(guarded(lambda: self._done(job, work)))
        except CancelledError:
            job.leave()
        except DiscreetError as error:
            job.fail(error)
        self._book.note(job)

    def _done(self, job: Job, work: Work) -> Outcome:
        with self._book.folder(job) as folder:
            return work.do(self._tell(job, work), folder)

    def _tell(self, job: Job, work: Work) -> Tell:
        def tell(text: str, share: float | None = None) -> None:
            with self._guard:
                if self._stopped.is_set():
                    raise StoppedError
                if job.cancelled:
                    raise CancelledError("jobs: this one was cancelled.")
                job.reach(work, text, share)

        return tell
