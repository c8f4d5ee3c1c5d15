"""How wrong answers become as questions go on: the median mechanism, multiplicative weights, Laplace noise.

Random conditions over made-up people, all under one epsilon. Laplace divides it by the number of questions,
so its error grows with that number. The other two look again only where what they know is too far off; their
errors grow much more slowly, and a stream that is out of updates ends.

    python benchmarks/figures/many_questions.py many_questions.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import numpy as np

from discreet.core.errors import BudgetError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mining.stream import METHODS, OnlineAnswerer, plan_stream
from discreet.rendering.charts import apply_style, save_chart

PEOPLE, RUNS = 48_842, 3
NUMBERS = (10, 30, 100, 300, 1_000, 3_000)
BUDGET = PureDP(epsilon=1, relation=Relation.VALUE)
WORLDS = {"4 cells, any condition": 4, "256 cells, ranges": 256}
PALE = "#EEF1F4"
COLOURS = {"median": "#009E73", "weights": "#0072B2", "laplace": "#D55E00"}


def policy(cells: int) -> Policy:
    """People who have one number each."""
    number = {"type": "integer", "low": 1, "high": cells, "nulls": False}
    table = {"source": "people.parquet", "rows": PEOPLE, "columns": {"number": number}}
    return Policy.model_validate({"tables": {"people": table}})


def error(method: str, cells: int, questions: int, dice: np.random.Generator) -> tuple[float, float]:
    """The mean error of the answers, as a share of the people, and the share of questions that had one."""
    middle = dice.normal(0.4, 0.15, PEOPLE)
    counts = np.bincount(np.clip(middle * cells, 0, cells - 1).astype(np.int64), minlength=cells)
    made = plan_stream(policy(cells), "people", ["number"], BUDGET, questions=questions, method=method)
    stream = OnlineAnswerer(made, Exact(counts), Randomness())
    errors = []
    for _ in range(questions):
        ends = np.sort(dice.integers(0, cells + 1, 2))
        at = np.arange(cells)
        asked = dice.random(cells) < 0.5 if cells < 10 else (at >= ends[0]) & (at < ends[1])
        try:
            errors.append(abs(stream.answer_cells(asked).count - int(counts[asked].sum())))
        except BudgetError:
            break
    return float(np.mean(errors)) / PEOPLE, len(errors) / questions


def measured() -> list[dict[str, object]]:
    points: list[dict[str, object]] = []
    for world, cells in WORLDS.items():
        for method in METHODS if cells < 10 else METHODS[1:]:
            for questions in NUMBERS:
                dice = np.random.default_rng(7)
                found = [error(method, cells, questions, dice) for _ in range(RUNS)]
                off, answered = np.mean(found, axis=0)
                points.append(
                    {
                        "world": world,
                        "method": method,
                        "questions": questions,
                        "error": float(off),
                        "answered": float(answered),
                    }
                )
    return points


def figure(points: list[dict[str, object]]) -> alt.Chart:
    methods = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    lines = (
        alt.Chart(alt.Data(values=points))
        .mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=40, filled=True))
        .encode(
            x=alt.X(
                "questions:Q",
                title="questions, all under ε = 1",
                scale=alt.Scale(type="log", domain=[NUMBERS[0], NUMBERS[-1]]),
                axis=alt.Axis(values=list(NUMBERS), gridColor=PALE),
            ),
            y=alt.Y(
                "error:Q",
                title="mean error, share of people",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~%", values=[1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1], gridColor=PALE),
            ),
            color=alt.Color("method:N", scale=methods, title=None),
            strokeDash=alt.StrokeDash("method:N", legend=None, sort=list(COLOURS)),
        )
        .properties(width=300, height=240)
        .facet(column=alt.Column("world:N", title=None, sort=list(WORLDS)))
    )
    told = f"{PEOPLE:,} people; replaced values; mean over the answered questions of {RUNS} runs"
    title = alt.Title("Many questions", subtitle=told)
    return apply_style(lines.properties(title=title))


def main() -> None:
    points = measured()
    print(f"{'':<24}{'':<10}{'questions':>10}{'error':>10}{'answered':>10}")
    for each in points:
        print(
            f"{each['world']:<24}{each['method']:<10}{each['questions']:>10,}"
            f"{each['error']:>10.3%}{each['answered']:>10.0%}"
        )
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "many_questions.svg")
    save_chart(figure(points), path)
    print(f"The figure is in {path}.")


if __name__ == "__main__":
    main()
