"""The job store, in the user storage: who started each job, how it ended, and what may be published.

Orphans     A job whose server process no longer runs has failed.
Not stored  Results on real data, which are held in memory only.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from discreet.accounting.process_identity import get_process_identity
from discreet.services.serving.job import Job, JobFailure, JobOutcome, JobState, ServerStoppedError
from discreet.services.users.user_storage import UserStorage

STORED_FIELDS = 'id, "user", kind, name, state, stage, share, begun, ended, failure, document, file'
OPEN_CONDITION = "state IN ('waiting', 'running')"
UPDATED_FIELDS = ("state", "stage", "share", "ended", "failure", "document", "file")


class JobStore:
    """The stored jobs, and the folders that they write to."""

    def __init__(self, storage: UserStorage) -> None:
        self._storage = storage
        self._process = get_process_identity()

    @contextmanager
    def open_folder(self, job: Job) -> Iterator[Path]:
        """Yield the private folder of a job: beside the user storage, or a temporary one if there is none."""
        if self._storage.releases_folder is not None:
            place = self._storage.releases_folder.absolute() / job.id
            place.parent.mkdir(mode=0o700, exist_ok=True)
            place.mkdir(mode=0o700)
        else:
            place = Path(tempfile.mkdtemp(prefix="discreet-release-"))
        try:
            yield place
        finally:
            with suppress(OSError):  # not empty: the job wrote files
                place.rmdir()

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
        """Mark jobs as failed whose server no longer runs."""
        query = f"SELECT process, {STORED_FIELDS} FROM job WHERE {OPEN_CONDITION}"
        with self._storage.read_transaction() as rows:
            found = rows.execute(query).fetchall()
            left = [
                _job_from_row(row[1:]) for row in found if not self._storage.is_process_alive(rows, row[0])
            ]
        for job in left:
            job.mark_failed(ServerStoppedError())
            self.update(job, where=f"id = :id AND {OPEN_CONDITION}")  # it may have finished meanwhile


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
