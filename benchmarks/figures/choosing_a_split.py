"""How to choose the attribute that a decision tree asks for first: the lectures' comparison, with its figure.

The lectures end with two ways. Laplace noise on the score of every attribute: all m noisy scores are
released, so each may spend epsilon / m, or all of them cost m times epsilon. The exponential mechanism: only
the name of the attribute is released, for epsilon, however many there are. Noise on every score of which only
the winner's name is released ("report noisy max") costs epsilon too: what costs is what leaves.

    python benchmarks/figures/choosing_a_split.py choosing.svg
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import altair as alt
import numpy as np

from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.sampling import Integers
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.decision_tree import Splits, count_sides
from discreet.mining.schema import Schema
from discreet.mining.split_criteria import GRID, Gini
from discreet.rendering.charts import apply_style, save_chart

PEOPLE, ATTRIBUTES = 1_000, 12
EPSILONS = [Fraction(k, 20) for k in range(1, 21)]
EACH, MAX, CHOSEN, FLIPPED = (
    "Laplace on every score, all released",
    "Laplace on every score, the winner released",
    "exponential mechanism",
    "permute-and-flip",
)
COLOURS = {EACH: "#D55E00", MAX: "#E69F00", CHOSEN: "#0072B2", FLIPPED: "#009E73"}


def scores() -> Integers:
    """The weighted Gini scores of made-up attributes, each of which tells the class a little worse."""
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 2, PEOPLE)
    right = np.linspace(0.75, 0.5, ATTRIBUTES)
    agree = generator.random((PEOPLE, ATTRIBUTES)) < right
    codes = np.where(agree, truth[:, None], 1 - truth[:, None]).astype(np.int16)
    attributes = [
        Attribute.category(f"attribute {j + 1}", "01", has_missing_bin=False) for j in range(ATTRIBUTES)
    ]
    schema = Schema(attributes=tuple(attributes), target=Attribute.category("class", "01"))
    counter = ArrayCounter(schema=schema, codes=codes, targets=truth)
    first, second = count_sides(schema, counter.count_cells_by_node(Splits()).secret)
    every = Gini().score_side(first) + Gini().score_side(second)
    # both values of an attribute divide the rows alike; whole units are enough here, and keep sensitivity 2
    return np.asarray(every[0, ::2] // GRID)


def best(found: Integers, epsilon: Fraction) -> dict[str, float]:
    """How probable it is that the best attribute is chosen, in each way: exact laws, no simulation."""
    winner = int(np.argmax(found))
    spent: dict[str, tuple[type[Exponential | NoisyMax | PermuteAndFlip], Fraction]] = {
        EACH: (NoisyMax, epsilon / ATTRIBUTES),
        MAX: (NoisyMax, epsilon),
        CHOSEN: (Exponential, epsilon),
        FLIPPED: (PermuteAndFlip, epsilon),
    }
    return {
        name: float(
            kind(epsilon=each, sensitivity=2, monotone=True, relation=Relation.PRESENCE).probabilities(found)[
                winner
            ]
        )
        for name, (kind, each) in spent.items()
    }


def figure(found: Integers) -> alt.Chart:
    points = [
        {"epsilon": float(epsilon), "way": name, "chance": chance}
        for epsilon in EPSILONS
        for name, chance in best(found, epsilon).items()
    ]
    ways = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    lines = (
        alt.Chart(alt.Data(values=points))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("epsilon:Q", title="ε for the choice"),
            y=alt.Y("chance:Q", title="the best attribute is chosen", axis=alt.Axis(format="%")),
            color=alt.Color("way:N", scale=ways, title=None, legend=alt.Legend(labelLimit=300)),
            strokeDash=alt.StrokeDash("way:N", legend=None, sort=list(COLOURS)),
        )
    )
    title = alt.Title(
        f"Which of {ATTRIBUTES} attributes?",
        subtitle=f"{PEOPLE:,} people; weighted Gini, sensitivity 2; all scores cost {ATTRIBUTES} ε",
    )
    return apply_style(lines.properties(width=420, height=260, title=title))


def main() -> None:
    found = scores()
    print("The best attribute is chosen with probability")
    print(f"{'':>43}  {''.join(f'ε = {float(e):<7g}' for e in EPSILONS[1::6])}")
    for name in COLOURS:
        print(f"{name:>43}  {''.join(f'{best(found, e)[name]:<11.2f}' for e in EPSILONS[1::6])}")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "choosing.svg")
    save_chart(figure(found), path)
    print(f"The figure is in {path}.")


if __name__ == "__main__":
    main()
