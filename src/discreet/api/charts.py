"""Charts of results, for notebooks and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.belief import Promise
from discreet.rendering.altair_charts import draw_promise
from discreet.rendering.answer_chart import draw_answer_chart
from discreet.rendering.ledger_chart import draw_ledger_chart
from discreet.services.answers import Answer
from discreet.services.curator import Curator

if TYPE_CHECKING:
    import altair as alt


def draw(subject: Promise | Answer | Curator) -> alt.Chart | alt.LayerChart | alt.HConcatChart:
    """Return a chart of a promise, of an answer with its error bars, or of how belief grew in a ledger.

    It is a chart of Altair: a notebook shows it, and `chart.save("promise.svg")` writes it to a file.

    >>> chart = draw(Promise(0.01, 0.05))
    >>> len(chart.hconcat)
    3
    """
    if isinstance(subject, Promise):
        return draw_promise(subject)
    if isinstance(subject, Answer):
        return draw_answer_chart(subject)
    return draw_ledger_chart(subject.ledger, analyst=subject.belief_scope)
