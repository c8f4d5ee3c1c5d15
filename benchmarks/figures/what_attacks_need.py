"""What attacks need: how many ratings one must know of a person, how small a study must be, how much epsilon.

Three attacks of the literature on made-up people, as one thing varies: films that someone rated (Narayanan &
Shmatikov), allele frequencies of a study (Homer et al.), the same under a promise.

    python benchmarks/figures/what_attacks_need.py needed.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt

from benchmarks.simulation.genome_study import Study
from benchmarks.simulation.rental_ratings import RentalService
from benchmarks.simulation.success_curves import (
    compute_power_by_epsilon,
    compute_power_by_people,
    compute_recognition_curve,
    compute_unique_by_columns,
)
from benchmarks.simulation.us_population import Population
from discreet.attacks.findings import Points
from discreet.core.randomness import Randomness
from discreet.rendering.charts import BLUE, VERMILLION, apply_style, save_chart

Curves = dict[str, Points]


def measured() -> dict[str, Curves]:
    """Each panel's curves, by what varies."""
    released, strangers = RentalService(people=5_000, titles=500).simulate_ratings()
    return {
        "ratings that are known, to two weeks": compute_recognition_curve(
            released, strangers, days=14, known=(1, 2, 3, 4, 6, 8), victims=300
        ),
        "people of the study, 2,000 SNPs": compute_power_by_people(
            [200, 500, 1_000, 5_000, 20_000], snps=2_000
        ),
        "epsilon of the frequencies": compute_power_by_epsilon(
            Study(people=1_000, snps=100), [0.5, 1, 2, 4, 8], Randomness()
        ),
    }


def figure(panels: dict[str, Curves]) -> alt.HConcatChart:
    side_by_side = alt.hconcat(*(_panel(over, curves) for over, curves in panels.items()))
    return apply_style(side_by_side.resolve_scale(color="independent"))


def _panel(over: str, curves: Curves) -> alt.Chart:
    points = [{"x": x, "share": y, "curve": name} for name, each in curves.items() for x, y in each]
    axis = alt.Axis(values=sorted({x for each in curves.values() for x, _ in each}), format="~r", grid=False)
    colours = alt.Scale(domain=list(curves), range=[VERMILLION, BLUE])
    return (
        alt.Chart(alt.Data(values=points))
        .mark_line(strokeWidth=2.5, point=True)
        .encode(
            x=alt.X("x:Q", title=over, scale=alt.Scale(type="log", nice=False), axis=axis),
            y=alt.Y("share:Q", title="share of people", axis=alt.Axis(format="%")),
            color=alt.Color(
                "curve:N", scale=colours, title=None, legend=alt.Legend(orient="top", direction="vertical")
            ),
        )
        .properties(width=200, height=200)
    )


def main() -> None:
    panels = measured()
    for over, curves in panels.items():
        print(over)
        for name, points in curves.items():
            print(f"  {name:30}", *(f"{x:g}: {share:.0%}".ljust(12) for x, share in points))
    print("expected to be alone by what is known of everybody")
    for columns, share in compute_unique_by_columns(Population()).items():
        print(f"  {columns:30} {share:.1%}")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "needed.svg")
    save_chart(figure(panels), path)
    print(f"The figure is in {path}.")


if __name__ == "__main__":
    main()
