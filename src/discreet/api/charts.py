"""Charts of results, for notebooks and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, shorten_value
from discreet.rendering.answer_chart import draw_answer_chart
from discreet.rendering.ledger_chart import draw_ledger_chart
from discreet.rendering.model_view import draw_model
from discreet.rendering.promise_chart import draw_promise
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from discreet.services.train import TrainedModel

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Drawing:
    """A drawing as SVG, which a notebook shows."""

    svg: str

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.svg):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path | str) -> None:
        """Write the drawing to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")


def draw(
    subject: Promise | Answer | Curator | TrainedModel,
) -> alt.Chart | alt.LayerChart | alt.HConcatChart | Drawing:
    """Return a chart of a promise, an answer with its error bars, how belief grew in a ledger, or a tree.

    A notebook shows it, and `draw(promise).save("promise.svg")` writes it to a file; all but trees are charts
    of Altair.

    >>> chart = draw(Promise(0.01, 0.05))
    >>> len(chart.hconcat)
    3
    """
    if isinstance(subject, Promise):
        return draw_promise(subject)
    if isinstance(subject, TrainedModel):
        return Drawing(draw_model(subject))
    if isinstance(subject, Answer):
        return draw_answer_chart(subject)
    if not isinstance(subject, Curator):
        raise InvalidParameterError(
            "draw: `subject=` must be a promise, an answer, a curator or a trained tree; "
            f"got {shorten_value(subject)}."
        )
    return draw_ledger_chart(subject.ledger, analyst=subject.belief_scope)
