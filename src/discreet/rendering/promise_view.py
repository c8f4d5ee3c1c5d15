"""The explanation of a promise, on the terminal and as JSON."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from discreet.belief import EpsilonChoice, Promise, compute_belief
from discreet.belief.wording import format_chance, format_number, format_percent, format_percent_up
from discreet.rendering.terminal import Console, build_plain_table

EXAMPLE_PRIORS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def explanation_to_json(
    promise: Promise, choice: EpsilonChoice | None, people: int | None
) -> dict[str, object]:
    """Return the JSON object."""
    return {
        **promise_to_json(promise),
        "beliefs": [
            {"prior": prior, "highest": highest, "lowest": lowest}
            for prior, highest, lowest in _list_beliefs(promise)
        ],
        "explanation": promise.explain(people=people),
        **({"chosen": {"by": choice.name, "note": choice.note}} if choice else {}),
    }


def show_explanation(
    console: Console, promise: Promise, choice: EpsilonChoice | None, people: int | None
) -> None:
    """Print the explanation, and a table of priors with their bounds."""
    if choice is not None:
        found = f": epsilon = {format_number(choice.epsilon)}. {choice.note}\n"
        console.print(Text.assemble((choice.name, "bold"), found))
    for line in promise.explain(people=people).splitlines():
        if line.startswith("- "):
            item = Table.grid(padding=(0, 1))
            item.add_row("•", Text(line.removeprefix("- ")))
            console.print(item)
        else:
            console.print(line, highlight=False, markup=False)
    headings = "\nbelieved before", "\nafter, at most", "\nafter, at least"
    table = build_plain_table(*headings, text_columns=0)
    for prior, highest, lowest in _list_beliefs(promise):
        style = "bold" if prior == promise.prior else ""
        table.add_row(format_percent(prior), format_percent_up(highest), format_percent(lowest), style=style)
    console.print(table)
    if promise.tail > 0:
        sigma = format_number(promise.gaussian_scale(1))
        console.print(
            f"\nEach bound may be exceeded with a probability of at most {format_chance(promise.tail)}, for "
            "each person. "
            f"Gaussian noise keeps this promise with sigma = {sigma} for an L2 sensitivity of 1.",
            highlight=False,
        )


def _list_beliefs(promise: Promise) -> list[tuple[float, float, float]]:
    """Return each example prior with its highest and lowest posterior, for the group if there is one."""
    priors = sorted({*EXAMPLE_PRIORS, promise.prior})
    ends = [compute_belief(prior, promise.loss, secret=promise.secret) for prior in priors]
    return [(end.prior, end.highest, end.lowest) for end in ends]


def promise_to_json(promise: Promise) -> dict[str, object]:
    """Return the parameters of a promise as a JSON object."""
    return {
        "prior": promise.prior,
        "posterior": promise.posterior,
        "secret": promise.secret.value,
        "group": promise.group,
        "tail": promise.tail,
        "gamma": promise.gamma,
        "epsilon": promise.epsilon,
    }
