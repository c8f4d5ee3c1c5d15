"""Jobs in the file of users: who started them, how they ended, and what of them may leave.

Left        A job whose server was killed can be told by the mark of its process, and has failed.
Not held    is what a job found on real data.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from discreet.accounting.processes import is_alive, this_process
from discreet.app.serve.job import Failure, Job, JobState, Outcome, StoppedError
from discreet.app.users.user_file import UserFile

FIELDS = "id, user, kind, name, state, stage, share, begun, ended, failure, document, file"
ENDING = ".users.db"


class JobBook:
    """The jobs of a file of users, and the folder that their releases are written to."""

    def __init__(self, file: UserFile) -> None:
        self._file = file
        self._process = this_process()

    @contextmanager
    def folder(self, job: Job) -> Iterator[Path]:
        """Where a job writes: beside the users, for their owner alone; in passing, where these are, too."""
        if self._file.path.endswith(ENDING):
            place = Path(f"{self._file.path.removesuffix(ENDING)}.releases").absolute() / job.id
            place.parent.mkdir(mode=0o700, exist_ok=True)
            place.mkdir(mode=0o700)
        else:
            place = Path(tempfile.mkdtemp(prefix="discreet-release-"))
        try:
            yield place
        finally:
            with suppress(OSError):  # something was written
                place.rmdir()

    def add(self, job: Job) -> None:
        values = (*_row(job), self._process)
        with self._file.writing() as rows:
            rows.execute(
                f"INSERT INTO job ({FIELDS}, process) VALUES ({', '.join('?' * len(values))})", values
            )

    def note(self, job: Job) -> None:
        """Keep how far it came."""
        changed = FIELDS.split(", ")[4:]
        with self._file.writing() as rows:
            rows.execute(
                f"UPDATE job SET {', '.join(f'{each} = ?' for each in changed)} WHERE id = ?",
                (*_row(job)[4:], job.id),
            )

    def all(self) -> list[Job]:
        with self._file.reading() as rows:
            return [_job(row) for row in rows.execute(f"SELECT {FIELDS} FROM job ORDER BY number")]

    def find(self, name: str) -> Job | None:
        with self._file.reading() as rows:
            row = rows.execute(f"SELECT {FIELDS} FROM job WHERE id = ?", (name,)).fetchone()
        return None if row is None else _job(row)

    def bury(self) -> None:
        """Those whose server is gone have failed."""
        query = f"SELECT process, {FIELDS} FROM job WHERE state IN ('waiting', 'running')"
        with self._file.reading() as rows:
            left = [_job(row[1:]) for row in rows.execute(query) if not is_alive(row[0])]
        for job in left:
            job.fail(StoppedError())
            self.note(job)


def _row(job: Job) -> tuple[object, ...]:
    outcome = job.outcome or Outcome()
    return (
        job.id,
        job.user,
        job.kind,
        job.name,
        job.state.value,
        job.stage,
        job.share,
        job.begun,
        job.ended,
        None if job.failure is None else json.dumps(asdict(job.failure.kept)),
        None if outcome.document is None else json.dumps(dict(outcome.document)),
        None if outcome.file is None else str(outcome.file),
    )


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
