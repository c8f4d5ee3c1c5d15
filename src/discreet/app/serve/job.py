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

from discreet.app.progress import Tell
from discreet.app.users.storage import now
from discreet.core.errors import DataError, DiscreetError, ModelNotMetError, RequestError


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class FullError(RequestError):
    """The queue is full."""

    code = "crowded"


class TooLateError(RequestError):
    """The job is finished, or charged, and cannot be cancelled."""

    code = "too-late"


class StoppedError(RequestError):
    """The server stopped before the job was finished."""

    code = "stopped"

    def __init__(self) -> None:
        super().__init__(
            "The server stopped before the job finished; the budget reserved for it counts as spent.",
            hint="Start it again.",
        )


class CancelledError(RequestError):
    """The job was cancelled before it cost anything."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The failure of a job: message, code and hint; `telling` if the message depends on data."""

    message: str
    code: str
    hint: str
    telling: bool = False

    @classmethod
    def of(cls, error: DiscreetError) -> Failure:
        telling = isinstance(error, DataError | ModelNotMetError)
        return cls(message=error.message, code=error.code, hint=error.hint, telling=telling)

    @property
    def kept(self) -> Failure:
        """The failure as it is stored, without a message that depends on data."""
        if not self.telling:
            return self
        return Failure(
            message="The job failed because of values in the data; the details are not stored.",
            code=self.code,
            hint="Start it again.",
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a job: `results` for the custodian; `document` and `file` may be published."""

    found: object = None
    document: Mapping[str, object] | None = None
    file: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of a job: `run` reports its stages and writes its files to the job's own folder.

    `form` holds the fields of the web form that started it, to be shown again beside the results.
    """

    kind: str
    name: str
    stages: tuple[str, ...]
    do: Callable[[Tell, Path], Outcome]
    binding: str | None = None
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
    share: float = 0.0
    begun: str = field(default_factory=now)
    ended: str | None = None
    failure: Failure | None = None
    outcome: Outcome | None = None
    bound: bool = False
    cancelled: bool = False

    @property
    def over(self) -> bool:
        return self.state not in (JobState.WAITING, JobState.RUNNING)

    def reach(self, work: Work, text: str, part: float | None) -> None:
        """Record a stage of the work, never an earlier one; ignore any other text."""
        for at, stage in enumerate(work.stages):
            share = (at + min(max(part or 0.0, 0.0), 1.0)) / len(work.stages)
            if text.startswith(stage) and share >= self.share:
                self.stage, self.share = stage, share
                self.bound = self.bound or stage == work.binding

    def finish(self, outcome: Outcome) -> None:
        self.state, self.outcome, self.share, self.ended = JobState.DONE, outcome, 1.0, now()

    def fail(self, error: DiscreetError) -> None:
        self.state, self.failure, self.ended = JobState.FAILED, Failure.of(error), now()

    def leave(self) -> None:
        """End the job as cancelled, before anything was charged."""
        self.state, self.ended = JobState.CANCELLED, now()
