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
from discreet.app.serve.job import Failure, Job, JobState, Outcome, StoppedError
from discreet.app.users.storage import UserStorage

FIELDS = 'id, "user", kind, name, state, stage, share, begun, ended, failure, document, file'
OPEN = "state IN ('waiting', 'running')"
CHANGING = ("state", "stage", "share", "ended", "failure", "document", "file")


class JobBook:
    """The stored jobs, and the folders that they write to."""

    def __init__(self, file: UserStorage) -> None:
        self._file = file
        self._process = get_process_identity()

    @contextmanager
    def folder(self, job: Job) -> Iterator[Path]:
        """Yield the private folder of a job: beside the user storage, or a temporary one if there is none."""
        if self._file.releases is not None:
            place = self._file.releases.absolute() / job.id
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
        row = _row(job) | {"process": self._process}
        values = ", ".join(f":{name}" for name in row)
        with self._file.writing() as rows:
            rows.execute(f"INSERT INTO job ({FIELDS}, process) VALUES ({values})", row)

    def note(self, job: Job, *, where: str = "id = :id") -> None:
        """Store the progress of a job."""
        changed = ", ".join(f"{each} = :{each}" for each in CHANGING)
        with self._file.writing() as rows:
            rows.execute(f"UPDATE job SET {changed} WHERE {where}", _row(job))

    def all(self) -> list[Job]:
        with self._file.reading() as rows:
            return [_job(row) for row in rows.execute(f"SELECT {FIELDS} FROM job ORDER BY number")]

    def find(self, name: str) -> Job | None:
        with self._file.reading() as rows:
            row = rows.execute(f"SELECT {FIELDS} FROM job WHERE id = :id", {"id": name}).fetchone()
        return None if row is None else _job(row)

    def bury(self) -> None:
        """Mark jobs as failed whose server no longer runs."""
        query = f"SELECT process, {FIELDS} FROM job WHERE {OPEN}"
        with self._file.reading() as rows:
            found = rows.execute(query).fetchall()
            left = [_job(row[1:]) for row in found if not self._file.is_alive(rows, row[0])]
        for job in left:
            job.fail(StoppedError())
            self.note(job, where=f"id = :id AND {OPEN}")  # it may have finished meanwhile


def _row(job: Job) -> dict[str, object]:
    outcome = job.outcome or Outcome()
    return {
        "id": job.id,
        "user": job.user,
        "kind": job.kind,
        "name": job.name,
        "state": job.state.value,
        "stage": job.stage,
        "share": job.share,
        "begun": job.begun,
        "ended": job.ended,
        "failure": None if job.failure is None else json.dumps(asdict(job.failure.kept)),
        "document": None if outcome.document is None else json.dumps(dict(outcome.document)),
        "file": None if outcome.file is None else str(outcome.file),
    }


def _job(row: tuple[object, ...]) -> Job:
    name, user, kind, title, state, stage, share, begun, ended, failure, document, file = row
    return Job(
        id=str(name),
        user=str(user),
        kind=str(kind),
        name=str(title),
        state=JobState(str(state)),
        stage=str(stage),
        share=float(str(share)),
        begun=str(begun),
        ended=None if ended is None else str(ended),
        failure=None if failure is None else Failure(**json.loads(str(failure))),
        outcome=Outcome(
            document=None if document is None else json.loads(str(document)),
            file=None if file is None else Path(str(file)),
        ),
    )
