"""Diagram of the packages: their layers, and the path of a question through them.

A layer imports only layers below it; packages of one layer do not import each other. `pyproject.toml` has the
same order, which import-linter enforces; tests/test_architecture.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from discreet.app.colours import BLUE, FAINT, INK, OTHERS, RULED, SUSPECTED

LAYERS: tuple[dict[str, str], ...] = (
    {"app": "curator, command line, servers, files: connects all packages"},
    {"papers": "five documents, recomputed"},
    {"mining": "models, many questions, synthetic tables", "attacks": "what an attacker finds; audits"},
    {"sql": "questions", "anonymity": "published tables", "local": "randomized at the source"},
    {"accounting": "composition of releases; the ledger"},
    {"engines": "where rows are counted", "mechanisms": "noise", "belief": "the promise"},
    {"core": "types that every package shares"},
)
DOWN = {
    "app": "1  app reads",
    "sql": "2  sql plans",
    "accounting": "3  reserved",
    "engines": "4  engines count",
}
UP = {"app": "7  app answers", "accounting": "6  settled", "engines": "5  mechanisms add noise"}
"""The path of a question: down to the rows, and up with the answer."""

LEFT, TOP, WIDE, TALL, GAP = 16, 40, 540, 52, 14
LANES, FOOT = (592, 720), 40
BREADTH, LETTERS = 900, "DejaVu Sans, Helvetica, Arial, sans-serif"


def picture() -> str:
    """Return the packages as SVG; each is a group with its name as id."""
    height = _top(len(LAYERS)) + FOOT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{BREADTH}" height="{height}" '
        f'viewBox="0 0 {BREADTH} {height}" role="img" font-family="{LETTERS}" font-size="12">\n'
        "<title>The packages of discreet, and the path of a question through them</title>\n"
        f'<rect width="{BREADTH}" height="{height}" rx="8" fill="white"/>\n'
    )
    return head + "\n".join([*_rooms(), *_way(), *_legend(height)]) + "\n</svg>\n"


def _top(place: int) -> int:
    return TOP + place * (TALL + GAP)


def _rooms() -> Iterator[str]:
    for place, layer in enumerate(LAYERS):
        width = (WIDE - GAP * (len(layer) - 1)) // len(layer)
        for column, (name, said) in enumerate(layer.items()):
            x, y = LEFT + column * (width + GAP), _top(place)
            yield (
                f'<g id="{name}"><rect x="{x}" y="{y}" width="{width}" height="{TALL}" rx="6" '
                f'fill="{RULED}" stroke="{OTHERS}"/>'
                f"{_text(x + width // 2, y + 20, name, weight='bold')}"
                f"{_text(x + width // 2, y + 38, said, size=11)}</g>"
            )


def _way() -> Iterator[str]:
    """Yield two lanes beside the packages: down to the rows, and up with the answer."""
    first, last = _middle("app"), _middle("engines")
    for lane, colour, steps, ends in zip(
        LANES, (BLUE, SUSPECTED), (DOWN, UP), ((first, last), (last, first)), strict=True
    ):
        yield _arrow(lane, *ends, colour)
        for room, said in steps.items():
            yield f'<circle cx="{lane}" cy="{_middle(room)}" r="4" fill="{colour}"/>'
            yield _text(lane + 10, _middle(room) + 4, said, anchor="start")


def _middle(room: str) -> int:
    return _top(next(place for place, layer in enumerate(LAYERS) if room in layer)) + TALL // 2


def _legend(height: int) -> Iterator[str]:
    yield _text(LEFT, TOP - 16, "A package imports packages below it.", anchor="start", colour=FAINT)
    yield _text(LANES[0] - 4, TOP - 16, "The path of a question", anchor="start", colour=FAINT)
    told = "Only app imports engines, and only engines import drivers; all others receive an engine."
    yield _text(LEFT, height - 20, told, anchor="start", colour=FAINT)


def _arrow(x: int, start: int, end: int, colour: str) -> str:
    """Return a line with an arrowhead just before its end."""
    back = -9 if end > start else 9
    tip = end + (-5 if end > start else 5)
    return (
        f'<line x1="{x}" y1="{start}" x2="{x}" y2="{tip + back}" stroke="{colour}" stroke-width="2"/>'
        f'<path d="M{x},{tip} l-5,{back} h10 z" fill="{colour}"/>'
    )


def _text(
    x: int,
    y: int,
    said: str,
    *,
    anchor: str = "middle",
    colour: str = INK,
    size: int = 12,
    weight: str = "normal",
) -> str:
    look = f'text-anchor="{anchor}" fill="{colour}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {look}>{escape(said)}</text>'
