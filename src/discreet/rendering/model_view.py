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

from discreet.belief.wording import format_number, format_percent
from discreet.mining.attributes import Attribute, format_range
from discreet.mining.decision_tree import MIN_SHOWN_ROWS, DecisionTree
from discreet.mining.schema import Schema
from discreet.rendering.terminal import print_facts
from discreet.rendering.tree_drawing import draw_tree
from discreet.services.train import TrainedModel

MAX_SHOWN_DEPTH = 3
MAX_SHOWN_SCORES = 12


def model_to_json(trained: TrainedModel, files: Sequence[Path]) -> dict[str, object]:
    """Return the JSON object."""
    return {
        "kind": trained.plan.kind,
        "table": trained.plan.table,
        "target": trained.model["target"],
        "model": trained.model,
        "epsilon": float(trained.epsilon),
        "delta": float(trained.delta),
        "guarantee": repr(trained.plan.guarantee),
        "belief": {"prior": trained.belief.prior, "posterior": trained.belief.highest},
        "entry": trained.entry,
        "repeated": trained.repeated,
        "files": [str(path) for path in files],
    }


def print_model(console: Console, trained: TrainedModel, files: Sequence[Path]) -> None:
    """Print the model, then cost and belief."""
    model = trained.model
    console.print(
        _render_tree(model, 0, MAX_SHOWN_DEPTH)
        if "question" in model
        else _render_strongest_scores(model, trained.plan.schema)
    )
    charge = f"epsilon {format_number(float(trained.epsilon))}"
    if trained.delta:
        charge += f", delta {float(trained.delta):g}"
    if trained.repeated:
        charge = "nothing: the same model was learned before"
    console.print()
    print_facts(console, [("cost", f"{charge} (entry {trained.entry})"), ("belief", trained.sentence)])
    for path in files:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def draw_model(trained: TrainedModel) -> str:
    """Return the drawing of a trained tree as SVG."""
    plan = trained.plan
    return draw_tree(DecisionTree.from_json(trained.model_json, plan.schema, plan.model_plan.guarantee))


def _render_tree(model: dict[str, Any], place: int, deep: int, word: str = "") -> Branch:
    """Return the upper levels of a tree: the question of each node, the prediction of each leaf."""
    first, second = model["children_left"][place], model["children_right"][place]
    lead = (f"{word}: " if word else "", "dim")
    if first == -1:
        return Branch(Text.assemble(lead, _format_prediction(model, place)), guide_style="dim")
    branch = Branch(Text.assemble(lead, (f"{model['question'][place]}?", "bold")), guide_style="dim")
    if deep == 0:
        branch.add(Text("… --draw tree.svg draws all of it", style="dim"))
        return branch
    branch.add(_render_tree(model, first, deep - 1, "yes"))
    branch.add(_render_tree(model, second, deep - 1, "no"))
    return branch


def _format_prediction(model: dict[str, Any], place: int) -> Text:
    """Return the prediction of a leaf; without a share if its rows are so few that they may be noise."""
    value, many = model["value"][place], model["n_node_samples"][place]
    rows = f", about {many:,.0f} rows" if many >= MIN_SHOWN_ROWS else ", hardly any rows"
    if not model["classes"]:
        return Text.assemble(format_number(value[0]), (rows, "dim"))
    share = max(value)
    told = f" {format_percent(share)}" if many >= MIN_SHOWN_ROWS else ""
    return Text.assemble(model["classes"][value.index(share)], told, (rows, "dim"))


def _render_strongest_scores(model: dict[str, Any], schema: Schema) -> Table:
    """Return the values with the largest scores, for the last class against the others."""
    scores = {each["name"]: each["scores"][-1] for each in model["features"]}
    found = [
        (attribute.name, label, score)
        for attribute in schema.attributes
        for label, score in _merge_equal_bins(attribute, scores[attribute.name])
    ]
    table = Table(box=None, pad_edge=False)
    table.add_column("column")
    table.add_column("values")
    table.add_column(f"score for {model['classes'][-1]}", justify="right")
    for name, label, score in sorted(found, key=lambda each: -abs(each[2]))[:MAX_SHOWN_SCORES]:
        table.add_row(name, label, f"{score:+.3f}")
    return table


def _merge_equal_bins(attribute: Attribute, scores: Sequence[float]) -> list[tuple[str, float]]:
    """Return labels and scores; adjacent bins of an ordered attribute with equal scores are merged."""
    labels = attribute.labels
    if not attribute.is_ordered:
        return list(zip(labels, scores, strict=True))
    begins = [0, *(k for k in range(1, attribute.regular_bins) if scores[k] != scores[k - 1])]
    texts = [None, *(attribute.cut_labels[k - 1] for k in begins[1:]), None]
    told = [format_range(low, high) for low, high in pairwise(texts)]
    missing = [(labels[-1], scores[-1])] if attribute.has_missing_bin else []
    return [*((label, scores[k]) for label, k in zip(told, begins, strict=True)), *missing]
