"""A job: its work, its progress and its outcome; and the job store, in the user storage.

Stages      A job reports the stage that it has reached, out of a constant list. Other progress messages (how
            many candidates were judged, which attacks apply) may depend on data and are dropped. The share
            done counts stages, and a fraction of one if that follows from the plan.
Charging    From its charging stage on, in which the ledger gets an entry, a job cannot be cancelled.
Orphans     A job whose server process no longer runs has failed. What it had not finished writing is removed.
Not stored  Results on real data, which are held in memory only.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from discreet.accounting.process_identity import get_process_identity
from discreet.core.errors import DataError, DiscreetError, ModelNotMetError, RequestError
from discreet.core.output_files import remove_leftovers
from discreet.services.progress import ProgressCallback
from discreet.services.users.user_storage import UserStorage, get_timestamp

STORED_FIELDS = 'id, "user", kind, name, state, stage, share, begun, ended, failure, document, file'
OPEN_CONDITION = "state IN ('waiting', 'running')"
UPDATED_FIELDS = ("state", "stage", "share", "ended", "failure", "document", "file")


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class QueueFullError(RequestError):
    """The queue is full."""

    code = "crowded"


class NotCancellableError(RequestError):
    """The job is finished, or charged, and cannot be cancelled."""

    code = "too-late"


class ServerStoppedError(RequestError):
    """The server stopped before the job was finished."""

    code = "stopped"

    def __init__(self) -> None:
        super().__init__(
            "The server stopped before the job finished; the budget reserved for it counts as spent.",
            hint="Start it again.",
        )


class JobCancelledError(RequestError):
    """The job was cancelled before it cost anything."""


@dataclass(frozen=True, kw_only=True)
class JobFailure:
    """The failure of a job: message, code and hint; `telling` if the message depends on data."""

    message: str
    code: str
    hint: str
    telling: bool = False

    @classmethod
    def from_error(cls, error: DiscreetError) -> JobFailure:
        telling = isinstance(error, DataError | ModelNotMetError)
        return cls(message=error.message, code=error.code, hint=error.hint, telling=telling)

    @property
    def stored_form(self) -> JobFailure:
        """The failure as it is stored, without a message that depends on data."""
        if not self.telling:
            return self
        return JobFailure(
            message="The job failed because of values in the data; the details are not stored.",
            code=self.code,
            hint="Start it again.",
        )


@dataclass(frozen=True, kw_only=True)
class JobOutcome:
    """The outcome of a job: `results` for the custodian; `document` and `file` may be published."""

    results: object = None
    document: Mapping[str, object] | None = None
    file: Path | None = None


@dataclass(frozen=True, kw_only=True)
class JobWork:
    """The work of a job: `run` reports its stages and writes its files to the job's own folder.

    `form` holds the fields of the web form that started it, to be shown again beside the results.
    """

    kind: str
    name: str
    stages: tuple[str, ...]
    run: Callable[[ProgressCallback, Path], JobOutcome]
    charging_stage: str | None = None
    form: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Job:
    """A job and its progress; `stages` and `form` are held in memory only."""

    id: str
    user: str
    kind: str
    name: str
    stages: tuple[str, ...] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    state: JobState = JobState.WAITING
    stage: str = ""
    fraction_done: float = 0.0
    started_at: str = field(default_factory=get_timestamp)
    ended_at: str | None = None
    failure: JobFailure | None = None
    outcome: JobOutcome | None = None
    is_charged: bool = False
    is_cancelled: bool = False

    @property
    def is_over(self) -> bool:
        return self.state not in (JobState.WAITING, JobState.RUNNING)

    def record_stage(self, work: JobWork, message: str, fraction: float | None) -> None:
        """Record a stage of the work, never an earlier one; ignore any other text."""
        for at, stage in enumerate(work.stages):
            share = (at + min(max(fraction or 0.0, 0.0), 1.0)) / len(work.stages)
            if message.startswith(stage) and share >= self.fraction_done:
                self.stage, self.fraction_done = stage, share
                self.is_charged = self.is_charged or stage == work.charging_stage

    def mark_done(self, outcome: JobOutcome) -> None:
        self.state, self.outcome, self.fraction_done, self.ended_at = (
            JobState.DONE,
            outcome,
            1.0,
            get_timestamp(),
        )

    def mark_failed(self, error: DiscreetError) -> None:
        self.state, self.failure, self.ended_at = (
            JobState.FAILED,
            JobFailure.from_error(error),
            get_timestamp(),
        )

    def mark_cancelled(self) -> None:
        """End the job as cancelled, before anything was charged."""
        self.state, self.ended_at = JobState.CANCELLED, get_timestamp()


class JobStore:
    """The stored jobs, and the folders that they write to."""

    def __init__(self, storage: UserStorage) -> None:
        self._storage = storage
        self._process = get_process_identity()

    @contextmanager
    def open_folder(self, job: Job) -> Iterator[Path]:
        """Yield the private folder of a job: beside the user storage, or a temporary one if there is none."""
        found = self._find_folder(job)
        if found is not None:
            found.parent.mkdir(mode=0o700, exist_ok=True)
            found.mkdir(mode=0o700)
        place = found or Path(tempfile.mkdtemp(prefix="discreet-release-"))
        try:
            yield place
        finally:
            with suppress(OSError):  # not empty: the job wrote files
                place.rmdir()

    def _find_folder(self, job: Job) -> Path | None:
        """Return the path of a job's folder beside the user storage, or None if that is no file."""
        folder = self._storage.releases_folder
        return None if folder is None else folder.absolute() / job.id

    def add(self, job: Job) -> None:
        row = _job_to_row(job) | {"process": self._process}
        values = ", ".join(f":{name}" for name in row)
        with self._storage.write_transaction() as rows:
            rows.execute(f"INSERT INTO job ({STORED_FIELDS}, process) VALUES ({values})", row)

    def update(self, job: Job, *, where: str = "id = :id") -> None:
        """Store the progress of a job."""
        changed = ", ".join(f"{each} = :{each}" for each in UPDATED_FIELDS)
        with self._storage.write_transaction() as rows:
            rows.execute(f"UPDATE job SET {changed} WHERE {where}", _job_to_row(job))

    def list_jobs(self) -> list[Job]:
        with self._storage.read_transaction() as rows:
            return [
                _job_from_row(row) for row in rows.execute(f"SELECT {STORED_FIELDS} FROM job ORDER BY number")
            ]

    def find_job(self, job_id: str) -> Job | None:
        with self._storage.read_transaction() as rows:
            row = rows.execute(f"SELECT {STORED_FIELDS} FROM job WHERE id = :id", {"id": job_id}).fetchone()
        return None if row is None else _job_from_row(row)

    def fail_orphans(self) -> None:
        """Mark jobs as failed whose server no longer runs, and remove their unfinished files."""
        query = f"SELECT process, {STORED_FIELDS} FROM job WHERE {OPEN_CONDITION}"
        with self._storage.read_transaction() as rows:
            found = rows.execute(query).fetchall()
            left = [
                _job_from_row(row[1:]) for row in found if not self._storage.is_process_alive(rows, row[0])
            ]
        for job in left:
            job.mark_failed(ServerStoppedError())
            self.update(job, where=f"id = :id AND {OPEN_CONDITION}")  # it may have finished meanwhile
            folder = self._find_folder(job)
            if folder is not None:
                remove_leftovers(folder)
                with suppress(OSError):  # not empty, or never made
                    folder.rmdir()


def _job_to_row(job: Job) -> dict[str, object]:
    outcome = job.outcome or JobOutcome()
    return {
        "id": job.id,
        "user": job.user,
        "kind": job.kind,
        "name": job.name,
        "state": job.state.value,
        "stage": job.stage,
        "share": job.fraction_done,
        "begun": job.started_at,
        "ended": job.ended_at,
        "failure": None if job.failure is None else json.dumps(asdict(job.failure.stored_form)),
        "document": None if outcome.document is None else json.dumps(dict(outcome.document)),
        "file": None if outcome.file is None else str(outcome.file),
    }


def _job_from_row(row: tuple[object, ...]) -> Job:
    name, user, kind, title, state, stage, share, begun, ended, failure, document, file = row
    return Job(
        id=str(name),
        user=str(user),
        kind=str(kind),
        name=str(title),
        state=JobState(str(state)),
        stage=str(stage),
        fraction_done=float(str(share)),
        started_at=str(begun),
        ended_at=None if ended is None else str(ended),
        failure=None if failure is None else JobFailure(**json.loads(str(failure))),
        outcome=JobOutcome(
            document=None if document is None else json.loads(str(document)),
            file=None if file is None else Path(str(file)),
        ),
    )
