"""A job: its work, its progress and its outcome.

Stages      A job reports the stage that it has reached, out of a constant list. Other progress messages (how
            many candidates were judged, which attacks apply) may depend on data and are dropped. The share
            done counts stages, and a fraction of one if that follows from the plan.
Charging    From its charging stage on, in which the ledger gets an entry, a job cannot be cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from discreet.core.errors import DataError, DiscreetError, ModelNotMetError, RequestError
from discreet.services.progress import ProgressCallback
from discreet.services.users.user_storage import get_timestamp


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
