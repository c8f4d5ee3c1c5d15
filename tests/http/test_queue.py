"""The queue of long work: what is told of it, when it can be cancelled, and what is left after the server."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.entries import EntryState
from discreet.core.errors import ModelNotMetError
from discreet.core.guarantees import PureDP
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import JobOutcome, JobState, JobWork, NotCancellableError, QueueFullError
from discreet.services.serving.job_queue import (
    MAX_OPEN_JOBS,
    JobInterrupted,
    JobQueue,
    _hide_stray_interruptions,
    has_job_threads,
)
from discreet.services.users import UserFile
from tests.http.served import COUNT, Server
from tests.patience import PATIENCE
from tests.pgwire.served import CANARY, slowed

STAGES = ("counting", "searching", "charging", "writing")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.users.db")


@pytest.fixture
def file(path: str) -> Iterator[UserFile]:
    with UserFile(path) as opened:
        yield opened


class Steps:
    """Work that comes to its stages one by one, as it is let."""

    def __init__(self) -> None:
        self.come, self.go = (threading.Semaphore(0) for _ in range(2))
        self.charged = False

    def work(self) -> JobWork:
        return JobWork(kind="steps", name="steps", stages=STAGES, charging_stage="charging", run=self.do)

    def do(self, tell: ProgressCallback, folder: Path) -> JobOutcome:
        for stage in STAGES:
            tell(stage)
            self.charged = self.charged or stage == "charging"
            self.come.release()
            assert self.go.acquire(timeout=PATIENCE)
        return JobOutcome(results=CANARY, document={"kind": "steps"}, file=folder / "steps.parquet")

    def reached(self) -> None:
        assert self.come.acquire(timeout=PATIENCE)


def test_stages_are_told_and_nothing_else_that_is_said_on_the_way(file: UserFile) -> None:
    jobs, seen = JobQueue(file), []

    def do(tell: ProgressCallback, folder: Path) -> JobOutcome:
        for text, part in (
            ("counting 48,843 rows", None),
            (f"reading {CANARY}", None),
            ("searching: 12 judged, 3 left", 0.5),
            ("searching", 0.25),
            ("writing", None),
            ("counting", None),
        ):
            tell(text, part)
            (job,) = jobs.list_jobs()
            seen.append((job.stage, job.fraction_done))
        return JobOutcome()

    jobs.submit("carl", JobWork(kind="steps", name="steps", stages=STAGES, run=do))
    while not jobs.list_jobs()[0].is_over:
        threading.Event().wait(0.01)
    jobs.close()
    half = ("searching", 0.375)
    assert seen == [("counting", 0), ("counting", 0), half, half, ("writing", 0.75), ("writing", 0.75)]
    assert jobs.list_jobs()[0].fraction_done == 1


def test_a_job_is_cancelled_before_it_costs_anything_and_not_later(file: UserFile) -> None:
    jobs, first, second = JobQueue(file), Steps(), Steps()
    running, waiting = jobs.submit("carl", first.work()), jobs.submit("carl", second.work())
    first.reached()
    jobs.cancel(waiting)
    assert waiting.state is JobState.CANCELLED
    jobs.cancel(running)
    first.go.release()
    third = Steps()
    charged = jobs.submit("carl", third.work())
    for _ in range(3):
        third.reached()
        third.go.release()
    third.reached()
    assert (running.state, first.charged, second.charged) == (JobState.CANCELLED, False, False)
    with pytest.raises(NotCancellableError, match="charged"):
        jobs.cancel(charged)
    third.go.release()
    while not charged.is_over:
        threading.Event().wait(0.01)
    jobs.close()
    assert (charged.state, third.charged) == (JobState.DONE, True)
    with pytest.raises(NotCancellableError, match="is finished"):
        jobs.cancel(charged)


def test_more_than_a_few_are_not_taken_on_and_a_server_that_ends_fails_them(file: UserFile) -> None:
    jobs, steps = JobQueue(file), Steps()
    job = jobs.submit("carl", steps.work())
    waiting = [jobs.submit("carl", Steps().work()) for _ in range(MAX_OPEN_JOBS - 1)]
    with pytest.raises(QueueFullError, match="queue is full"):
        jobs.submit("carl", Steps().work())
    steps.reached()
    ending = threading.Thread(target=jobs.close)
    ending.start()
    while not jobs._stop_event.is_set():
        threading.Event().wait(0.01)
    steps.go.release()
    ending.join()
    for each in (job, *waiting):
        assert each.failure is not None
        assert (each.state, each.failure.code) == (JobState.FAILED, "stopped")


def busy() -> None:
    """Work that tells nobody what it does, and ends when it is interrupted."""
    while True:
        threading.Event().wait(0.001)


def test_a_server_that_ends_interrupts_what_runs_and_lets_it_clean_up(file: UserFile) -> None:
    jobs, begun, cleaned = JobQueue(file), threading.Event(), threading.Event()

    def do(tell: ProgressCallback, folder: Path) -> JobOutcome:
        try:
            begun.set()
            busy()
        finally:
            cleaned.set()
        return JobOutcome()

    job = jobs.submit("carl", JobWork(kind="steps", name="steps", stages=STAGES, run=do))
    assert begun.wait(PATIENCE)
    jobs.close()
    assert cleaned.wait(PATIENCE)
    for each in (job, *JobQueue(file).list_jobs()):
        assert each.failure is not None
        assert (each.state, each.failure.code) == (JobState.FAILED, "stopped")


def test_what_does_not_let_itself_be_interrupted_is_left_behind(
    file: UserFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.services.serving.job_queue.GRACE_PERIOD", 0.01)
    jobs, begun, go, over = JobQueue(file), threading.Event(), threading.Event(), threading.Event()

    def do(tell: ProgressCallback, folder: Path) -> JobOutcome:
        begun.set()
        try:
            go.wait(PATIENCE)
        finally:
            over.set()
        return JobOutcome(document={"kind": "steps"})

    job = jobs.submit("carl", JobWork(kind="steps", name="steps", stages=STAGES, run=do))
    assert begun.wait(PATIENCE)
    jobs.close()
    assert has_job_threads()
    go.set()
    assert over.wait(PATIENCE)
    while has_job_threads():
        threading.Event().wait(0.01)
    assert job.state is JobState.FAILED
    assert [each.state for each in JobQueue(file).list_jobs()] == [JobState.FAILED]


def test_what_a_job_had_reserved_when_the_server_ended_counts_as_spent(server: Server) -> None:
    begun, ledger = threading.Event(), server.curators.ledger

    def held() -> None:
        begun.set()
        busy()

    slowed(server.curators, "alice", held)
    with UserFile(":memory:") as file:
        jobs = JobQueue(file)

        def do(tell: ProgressCallback, folder: Path) -> JobOutcome:
            server.curators.for_analyst("alice").ask(COUNT, epsilon=0.1)
            return JobOutcome()

        jobs.submit("carl", JobWork(kind="steps", name="steps", stages=STAGES, run=do))
        assert begun.wait(PATIENCE)
        jobs.close()
    assert [each.state for each in ledger.list_entries()] == [EntryState.ORPHANED]
    assert ledger.get_total_spent() == PureDP(epsilon=Fraction(0.1))


def test_the_stage_of_a_job_is_seen_by_other_servers_which_do_not_cancel_it(path: str) -> None:
    with UserFile(path) as here, UserFile(path) as there:
        jobs, steps, others = JobQueue(here), Steps(), JobQueue(there)
        job = jobs.submit("carl", steps.work())
        steps.reached()
        found = others.find_job(job.id)
        assert found is not None
        assert (found.state, found.stage) == (JobState.RUNNING, "counting")
        with pytest.raises(NotCancellableError, match="on another server"):
            others.cancel(found)
        steps.go.release(len(STAGES))
        while not job.is_over:
            threading.Event().wait(0.01)
        jobs.close()
        others.close()
        assert job.state is JobState.DONE


def test_after_a_restart_the_document_is_there_and_what_was_found_on_data_is_not(path: str) -> None:
    with UserFile(path) as file:
        jobs, steps = JobQueue(file), Steps()
        steps.go.release(len(STAGES))
        job = jobs.submit("carl", steps.work())
        for _ in STAGES:
            steps.reached()
        while not job.is_over:
            threading.Event().wait(0.01)
        jobs.close()
        assert job.outcome is not None
        assert job.outcome.results == CANARY
        assert [each.name for each in Path(path).parent.glob("ledger.releases/*")] == []
    with UserFile(path) as file:
        found = JobQueue(file).find_job(job.id)
        assert found is not None
        assert found.outcome is not None
        assert (found.state, found.outcome.document) == (JobState.DONE, {"kind": "steps"})
        assert found.outcome.file == job.outcome.file
        assert found.outcome.results is None
    assert CANARY.encode() not in Path(path).read_bytes()


def test_a_failure_tells_nothing_of_the_data_but_to_whoever_asks_before_a_restart(path: str) -> None:
    def unforeseen(tell: ProgressCallback, folder: Path) -> JobOutcome:
        raise ValueError(CANARY)

    def unmet(tell: ProgressCallback, folder: Path) -> JobOutcome:
        raise ModelNotMetError(f"No release: {CANARY}.")

    with UserFile(path) as file:
        jobs = JobQueue(file)
        works = [JobWork(kind="steps", name="steps", stages=STAGES, run=do) for do in (unforeseen, unmet)]
        first, second = (jobs.submit("carl", work) for work in works)
        while not second.is_over:
            threading.Event().wait(0.01)
        jobs.close()
    assert first.failure is not None
    assert second.failure is not None
    assert (first.failure.code, CANARY in str(first.failure)) == ("engine-fault", False)
    assert (second.failure.code, CANARY in str(second.failure)) == ("unmet", True)
    assert CANARY.encode() not in Path(path).read_bytes()


KILLED = """
import os, signal, sys
from discreet.core.output_files import replace_output
from discreet.services.serving.job import JobWork
from discreet.services.serving.job_queue import JobQueue
from discreet.services.users import UserFile

def do(tell, folder):
    with replace_output(folder / "release.csv") as draft:
        draft.write_text("rows")
        os.kill(os.getpid(), signal.SIGKILL)

work = JobWork(kind="steps", name="steps", stages=("counting",), run=do)
JobQueue(UserFile(sys.argv[1])).submit("carl", work)
"""


def test_a_job_that_ran_when_the_server_was_killed_has_failed(path: str) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=PATIENCE)
    assert ended.returncode == -9
    assert [each.read_text() for each in Path(path).parent.glob("ledger.releases/*/.release.csv.*")] == [
        "rows"
    ]
    with UserFile(path) as file:
        opened = JobQueue(file)
        assert list(Path(path).parent.glob("ledger.releases/*")) == [], (
            "unfinished rows are gone at the start"
        )
        opened.close()
        (job,) = JobQueue(file).list_jobs()
        assert job.failure is not None
        assert (job.state, job.failure.code) == (JobState.FAILED, "stopped")
        assert "counts as spent" in job.failure.message


def test_a_file_of_users_that_knew_no_jobs_learns_them(path: str) -> None:
    with UserFile(path) as file, file.write_transaction() as rows:
        rows.execute("DROP TABLE job")
        rows.execute("ALTER TABLE attempt DROP COLUMN process")
        rows.execute("ALTER TABLE token DROP COLUMN expires")
        rows.execute("PRAGMA user_version = 1")
    with UserFile(path) as file:
        assert JobQueue(file).list_jobs() == []


class Interrupted:
    """What is interrupted where nobody can handle it."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def __del__(self) -> None:
        raise self.kind


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_another_thread_gets_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: printed.append(each.exc_type))
    with _hide_stray_interruptions():
        for kind in (JobInterrupted, ValueError):
            Interrupted(kind)
    assert printed == [ValueError]
