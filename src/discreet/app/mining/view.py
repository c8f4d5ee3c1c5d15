"""Terminal and JSON views of a trained model: the model, its cost, and the resulting belief."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as Branch

from discreet.app.ask_view import show_facts
from discreet.app.mining.training import Mined
from discreet.belief.wording import format_number, format_percent
from discreet.mining.attributes import Attribute, between
from discreet.mining.schema import Schema
from discreet.mining.tree import FEW

DEEPEST = 3
STRONGEST = 12


def as_object(mined: Mined, written: Sequence[Path]) -> dict[str, object]:
    """Return the JSON object."""
    return {
        "kind": mined.plan.kind,
        "table": mined.plan.table,
        "target": mined.model["target"],
        "model": mined.model,
        "epsilon": float(mined.epsilon),
        "delta": float(mined.delta),
        "guarantee": repr(mined.plan.guarantee),
        "belief": {"prior": mined.belief.prior, "posterior": mined.belief.highest},
        "entry": mined.entry,
        "repeated": mined.repeated,
        "files": [str(path) for path in written],
    }


def show(console: Console, mined: Mined, written: Sequence[Path]) -> None:
    """Print the model, then cost and belief."""
    model = mined.model
    console.print(_grown(model, 0, DEEPEST) if "question" in model else _strongest(model, mined.plan.schema))
    charge = f"epsilon {format_number(float(mined.epsilon))}"
    if mined.delta:
        charge += f", delta {float(mined.delta):g}"
    if mined.repeated:
        charge = "nothing: the same model was learned before"
    show_facts(console, [("cost", f"{charge} (entry {mined.entry})"), ("belief", mined.sentence)])
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _grown(model: dict[str, Any], place: int, deep: int, word: str = "") -> Branch:
    """Return the upper levels of a tree: the question of each node, the prediction of each leaf."""
    first, second = model["children_left"][place], model["children_right"][place]
    lead = (f"{word}: " if word else "", "dim")
    if first == -1:
        return Branch(Text.assemble(lead, _predicted(model, place)), guide_style="dim")
    branch = Branch(Text.assemble(lead, (f"{model['question'][place]}?", "bold")), guide_style="dim")
    if deep == 0:
        branch.add(Text("… --draw tree.svg draws all of it", style="dim"))
        return branch
    branch.add(_grown(model, first, deep - 1, "yes"))
    branch.add(_grown(model, second, deep - 1, "no"))
    return branch


def _predicted(model: dict[str, Any], place: int) -> Text:
    """Return the prediction of a leaf; without a share if its rows are so few that they may be noise."""
    value, many = model["value"][place], model["n_node_samples"][place]
    rows = f", about {many:,.0f} rows" if many >= FEW else ", hardly any rows"
    if not model["classes"]:
        return Text.assemble(format_number(value[0]), (rows, "dim"))
    share = max(value)
    told = f" {format_percent(share)}" if many >= FEW else ""
    return Text.assemble(model["classes"][value.index(share)], told, (rows, "dim"))


def _strongest(model: dict[str, Any], schema: Schema) -> Table:
    """Return the values with the largest scores, for the last class against the others."""
    scores = {each["name"]: each["scores"][-1] for each in model["features"]}
    found = [
        (attribute.name, label, score)
        for attribute in schema.attributes
        for label, score in _runs(attribute, scores[attribute.name])
    ]
    table = Table(box=None, pad_edge=False)
    table.add_column("column")
    table.add_column("values")
    table.add_column(f"score for {model['classes'][-1]}", justify="right")
    for name, label, score in sorted(found, key=lambda each: -abs(each[2]))[:STRONGEST]:
        table.add_row(name, label, f"{score:+.3f}")
    return table


def _runs(attribute: Attribute, scores: Sequence[float]) -> list[tuple[str, float]]:
    """Return labels and scores; adjacent bins of an ordered attribute with equal scores are merged."""
    labels = attribute.labels
    if not attribute.ordered:
        return list(zip(labels, scores, strict=True))
    begins = [0, *(k for k in range(1, attribute.regular) if scores[k] != scores[k - 1])]
    texts = [None, *(attribute.starts[k - 1] for k in begins[1:]), None]
    told = [between(low, high) for low, high in pairwise(texts)]
    missing = [(labels[-1], scores[-1])] if attribute.missing else []
    return [*((label, scores[k]) for label, k in zip(told, begins, strict=True)), *missing]
