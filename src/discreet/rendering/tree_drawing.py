"""A decision tree as SVG text, laid out so that no two boxes touch: Vega-Lite has no layout for trees.

It grows from left to right, so that it is as wide as it is deep, and one scrolls down through its leaves:
these stand below each other, a node beside the middle of its children; yes goes up. A bar in a leaf shows the
shares of the classes, and its word which one is predicted: no colour says anything that text does not.
Colours are those of Okabe & Ito. Counts are the noisy ones that were released.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from discreet.mining.decision_tree import MIN_SHOWN_ROWS, DecisionTree, Node

WIDTH, HEIGHT, GAP, REACH, MARGIN = 228, 40, 10, 64, 24
INK, FAINT, LINE, PAPER = "#1F2933", "#616E7C", "#C9CED6", "#FFFFFF"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#7B8794")
MAX_LABEL_LENGTH = 36


@dataclass(frozen=True, kw_only=True)
class _NodeBox:
    """A node and the position of its box."""

    node: Node
    x: float
    y: float
    children: tuple[_NodeBox, ...]


def draw_tree(tree: DecisionTree) -> str:
    """Return the whole tree as SVG."""
    placed, bottom = _place_node(tree.root, MARGIN, MARGIN)
    width = 2 * MARGIN + WIDTH + tree.depth * (WIDTH + REACH)
    height = bottom + MARGIN
    target = tree.schema.target.name if tree.schema.target else ""
    title = f"Decision tree for {target}: {tree.leaf_count} leaves, depth {tree.depth}"
    parts = [*_draw_edges(placed), *_draw_boxes(tree, placed)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="DejaVu Sans, Helvetica, Arial, '
        f'sans-serif" font-size="11"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


def _place_node(node: Node, left: float, top: float) -> tuple[_NodeBox, float]:
    """Return the placed node, from `top` on, and the lower end of its area."""
    if not node.children:
        return _NodeBox(node=node, x=left, y=top, children=()), top + HEIGHT
    beside, end = [], top - GAP
    for child in node.children:
        placed, end = _place_node(child, left + WIDTH + REACH, end + GAP)
        beside.append(placed)
    middle = (beside[0].y + beside[-1].y) / 2
    return _NodeBox(node=node, x=left, y=middle, children=tuple(beside)), end


def _draw_edges(box: _NodeBox) -> list[str]:
    found = []
    for child, word in zip(box.children, ("yes", "no"), strict=False):
        x, y = box.x + WIDTH, box.y + HEIGHT / 2
        to_x, to_y = child.x, child.y + HEIGHT / 2
        middle = (x + to_x) / 2
        found.append(
            f'<path d="M{x:g},{y:g}C{middle:g},{y:g} {middle:g},{to_y:g} {to_x:g},{to_y:g}" fill="none" '
            f'stroke="{LINE}" stroke-width="1.5"/>'
        )
        found.append(_draw_text(to_x - 14, to_y + (14 if word == "no" else -6), word, FAINT))
        found += _draw_edges(child)
    return found


def _draw_boxes(tree: DecisionTree, box: _NodeBox) -> list[str]:
    node, x, y = box.node, box.x, box.y
    frame = (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{PAPER}" stroke="{LINE}" '
        f'stroke-width="1.5"/>'
    )
    middle, rows = (
        x + WIDTH / 2,
        f"about {node.rows:,.0f} rows" if node.rows >= MIN_SHOWN_ROWS else "hardly any rows",
    )
    if node.split is not None:
        question = tree.describe_split(node.split)
        told = f"<title>{escape(question)}</title>"
        words = [
            _draw_text(middle, y + 17, _shorten_text(question), INK, told),
            _draw_text(middle, y + 32, rows, FAINT),
        ]
    else:
        bar = _draw_class_bar(node, x, y) if len(node.value) > 1 else []
        words = [
            *bar,
            _draw_text(middle, y + 15, _shorten_text(_format_prediction(tree, node)), INK),
            _draw_text(middle, y + 28, rows, FAINT),
        ]
    return [frame, *words, *(part for child in box.children for part in _draw_boxes(tree, child))]


def _format_prediction(tree: DecisionTree, node: Node) -> str:
    """Return the prediction of a leaf as text."""
    target = tree.schema.target
    if len(node.value) == 1 or target is None:
        return f"{node.value[0]:.4g}"
    share = f" ({node.value[node.predicted_class]:.0%})" if node.rows >= MIN_SHOWN_ROWS else ""
    return f"{target.values[node.predicted_class]}{share}"


def _draw_class_bar(node: Node, x: float, y: float) -> list[str]:
    found, at = [], x + 8
    for place, share in enumerate(node.value):
        wide = share * (WIDTH - 16)
        colour = PALETTE[place % len(PALETTE)]
        found.append(f'<rect x="{at:.1f}" y="{y + 32:g}" width="{wide:.1f}" height="4" fill="{colour}"/>')
        at += wide
    return found


def _shorten_text(text: str) -> str:
    return text if len(text) <= MAX_LABEL_LENGTH else f"{text[: MAX_LABEL_LENGTH - 1]}…"


def _draw_text(x: float, y: float, words: str, colour: str, title: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" fill="{colour}">{escape(words)}{title}</text>'
