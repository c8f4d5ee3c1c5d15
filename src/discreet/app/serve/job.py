"""A job: what it does, how far it came, and what came of it.

Stages      A job says which stage of its kind it has come to. The list of stages is a constant; whatever else
            is told on the way (how many were judged, which attacks fit) may be of the data, and goes no
            further. The share that is done counts stages, and a part of one where it follows from the plan.
Binding     is the stage at which something is charged or entered in the ledger: from there on a job is not
            taken back.
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
    """How far a job came."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class FullError(RequestError):
    """More is waiting than is taken on."""

    code = "crowded"


class TooLateError(RequestError):
    """A job that is over, or past what can be taken back."""

    code = "too-late"


class StoppedError(RequestError):
    """The server ended, and its jobs with it."""

    code = "stopped"

    def __init__(self) -> None:
        super().__init__(
            "The server ended before the job did; what was reserved for it counts as spent.",
            hint="Start it again.",
        )


class CancelledError(RequestError):
    """The job was cancelled before it cost anything."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a job failed: a sentence, a word for programs, the way out; `telling` if it follows from data."""

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
        """What is written down of it."""
        if not self.telling:
            return self
        return Failure(
            message="It failed for what the data holds, which is not written down.",
            code=self.code,
            hint="Start it again.",
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a job: what it `found` for the custodian; `document` and `file` of what may leave."""

    found: object = None
    document: Mapping[str, object] | None = None
    file: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a job does: `do` tells its stages, and leaves its files in a folder that is the job's own.

    `form` is what a page asked for it with, to be shown again beside what is found.
    """

    kind: str
    name: str
    stages: tuple[str, ...]
    do: Callable[[Tell, Path], Outcome]
    binding: str | None = None
    form: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Job:
    """One piece of work, and how far it came; `stages` and `form` are held in memory alone."""

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
        """Come to a stage of the work, never back to an earlier one; any other text says nothing."""
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
        """End it before it has cost anything."""
        self.state, self.ended = JobState.CANCELLED, now()
