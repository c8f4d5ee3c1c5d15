"""How a question is refused: from text and policy alone, with the reason and the nearest allowed form."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from discreet.core.errors import RequestError


class Refusal(RequestError):  # noqa: N818  (an outcome of planning, not a fault of it)
    """A question that cannot be answered under the promise, or is not SQL that may be asked."""

    code = "refused-question"


def refuse(message: str, hint: str = "") -> NoReturn:
    raise Refusal(f"ask: {message}", hint=hint)


def shown(node: exp.Expression | str, limit: int = 60) -> str:
    """A piece of the question, short enough for a sentence."""
    text = node if isinstance(node, str) else node.sql(dialect="duckdb", comments=False)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
