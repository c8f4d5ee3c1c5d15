"""The chart of each kind of result, and its file: promise, answer, ledger, estimates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import altair as alt

from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.rendering.answer_chart import draw_answer_chart, require_drawable
from discreet.rendering.charts import require_chart_path, save_chart
from discreet.rendering.estimate_chart import draw_estimates
from discreet.rendering.ledger_chart import draw_ledger_chart
from discreet.rendering.promise_chart import draw_promise
from discreet.services.answers import Answer
from discreet.services.collect.estimate import EstimateResult
from discreet.sql.planner import QueryPlan

Drawable = Promise | Answer | Ledger | Sequence[EstimateResult]


def require_chart(path: Path, plan: QueryPlan) -> None:
    """Refuse a file that no chart can be written to, or a question whose answer has no chart."""
    require_chart_path(path)
    require_drawable(plan)


def save_result_chart(subject: Drawable, path: Path) -> None:
    """Write the chart of a result as SVG or PNG, by the file's suffix."""
    save_chart(_draw_result(subject), path)


def _draw_result(subject: Drawable) -> alt.Chart | alt.HConcatChart | alt.VConcatChart:
    match subject:
        case Promise():
            return draw_promise(subject)
        case Answer():
            return draw_answer_chart(subject)
        case Ledger():
            return draw_ledger_chart(subject)
        case _:
            return draw_estimates(subject)
