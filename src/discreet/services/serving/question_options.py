"""Budget and accuracy options of one question, as every listener passes them to the curator."""

from __future__ import annotations

from typing import TypedDict


class QuestionOptions(TypedDict):
    """The cost and accuracy of a question: keyword arguments of `Curator.plan`."""

    epsilon: float | None
    share: float | None
    within: float | str | None
    least_rows: int | None
    confidence: float
    raw: bool
