"""`--plot FILE`: the chart of what a command shows.

The charting library takes most of a command's time to load, so charts are loaded only where one is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.services.request_fields import OUTPUT_PANEL

if TYPE_CHECKING:
    from discreet.rendering.result_charts import Drawable
    from discreet.sql.planner import QueryPlan

PlotOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw it into a .svg or .png file.", rich_help_panel=OUTPUT_PANEL),
]


def require_plot(path: Path, plan: QueryPlan) -> None:
    """Refuse a file that no chart can be written to, or a question whose answer has no chart."""
    from discreet.rendering.result_charts import require_chart

    require_chart(path, plan)


def save_plot(subject: Drawable, path: Path) -> None:
    """Write the chart of a result as SVG or PNG, by the file's suffix."""
    from discreet.rendering.result_charts import save_result_chart

    save_result_chart(subject, path)
