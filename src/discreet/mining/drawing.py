"""A decision tree as SVG text, laid out so that no two boxes touch.

It grows from left to right, so that it is as wide as it is deep, and one scrolls down through its leaves:
these stand below each other, a node beside the middle of its children; yes goes up. A bar in a leaf shows the
shares of the classes, and its word which one is predicted: no colour says anything that text does not.
Colours are those of Okabe & Ito. Counts are the noisy ones that were released.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from discreet.mining.tree import FEW, Node, Tree

WIDTH, HEIGHT, GAP, REACH, MARGIN = 228, 40, 10, 64, 24
INK, FAINT, LINE, PAPER = "#1F2933", "#616E7C", "#C9CED6", "#FFFFFF"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#7B8794")
LONGEST = 36


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A node and the position of its box."""

    node: Node
    x: float
    y: float
    children: tuple[_Placed, ...]


def svg(tree: Tree) -> str:
    """Return the whole tree as SVG."""
    placed, bottom = _place(tree.root, MARGIN, MARGIN)
    width = 2 * MARGIN + WIDTH + tree.depth * (WIDTH + REACH)
    height = bottom + MARGIN
    target = tree.schema.target.name if tree.schema.target else ""
    title = f"Decision tree for {target}: {tree.leaves} leaves, depth {tree.depth}"
    parts = [*_lines(placed), *_boxes(tree, placed)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="DejaVu Sans, Helvetica, Arial, '
        f'sans-serif" font-size="11"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


def _place(node: Node, left: float, top: float) -> tuple[_Placed, float]:
    """Return the placed node, from `top` on, and the lower end of its area."""
    if not node.children:
        return _Placed(node=node, x=left, y=top, children=()), top + HEIGHT
    beside, end = [], top - GAP
    for child in node.children:
        placed, end = _place(child, left + WIDTH + REACH, end + GAP)
        beside.append(placed)
    middle = (beside[0].y + beside[-1].y) / 2
    return _Placed(node=node, x=left, y=middle, children=tuple(beside)), end


def _lines(placed: _Placed) -> list[str]:
    found = []
    for child, word in zip(placed.children, ("yes", "no"), strict=False):
        x, y = placed.x + WIDTH, placed.y + HEIGHT / 2
        to_x, to_y = child.x, child.y + HEIGHT / 2
        middle = (x + to_x) / 2
        found.append(
            f'<path d="M{x:g},{y:g}C{middle:g},{y:g} {middle:g},{to_y:g} {to_x:g},{to_y:g}" fill="none" '
            f'stroke="{LINE}" stroke-width="1.5"/>'
        )
        found.append(_text(to_x - 14, to_y + (14 if word == "no" else -6), word, FAINT))
        found += _lines(child)
    return found


def _boxes(tree: Tree, placed: _Placed) -> list[str]:
    node, x, y = placed.node, placed.x, placed.y
    frame = (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{PAPER}" stroke="{LINE}" '
        f'stroke-width="1.5"/>'
    )
    middle, rows = x + WIDTH / 2, f"about {node.rows:,.0f} rows" if node.rows >= FEW else "hardly any rows"
    if node.split is not None:
        question = tree.question(node.split)
        told = f"<title>{escape(question)}</title>"
        words = [_text(middle, y + 17, _short(question), INK, told), _text(middle, y + 32, rows, FAINT)]
    else:
        bar = _bar(node, x, y) if len(node.value) > 1 else []
        words = [
            *bar,
            _text(middle, y + 15, _short(_said(tree, node)), INK),
            _text(middle, y + 28, rows, FAINT),
        ]
    return [frame, *words, *(part for child in placed.children for part in _boxes(tree, child))]


def _said(tree: Tree, node: Node) -> str:
    """Return the prediction of a leaf as text."""
    target = tree.schema.target
    if len(node.value) == 1 or target is None:
        return f"{node.value[0]:.4g}"
    share = f" ({node.value[node.best]:.0%})" if node.rows >= FEW else ""
    return f"{target.values[node.best]}{share}"


def _bar(node: Node, x: float, y: float) -> list[str]:
    found, at = [], x + 8
    for place, share in enumerate(node.value):
        wide = share * (WIDTH - 16)
        colour = PALETTE[place % len(PALETTE)]
        found.append(f'<rect x="{at:.1f}" y="{y + 32:g}" width="{wide:.1f}" height="4" fill="{colour}"/>')
        at += wide
    return found


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(x: float, y: float, words: str, colour: str, told: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" fill="{colour}">{escape(words)}{told}</text>'
