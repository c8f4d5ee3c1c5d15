"""Budget and accuracy of one question, as every listener hands them to the curator."""

from __future__ import annotations

from typing import TypedDict


class Spending(TypedDict):
    """What a question may cost and how it is answered, as `Curator.plan` takes it."""

    epsilon: float | None
    share: float | None
    within: float | str | None
    least_rows: int | None
    confidence: float
    raw: bool
