"""Diagram of the packages: their layers, and the path of a question through them.

A layer imports only layers below it; packages of one layer do not import each other. `pyproject.toml` has the
same order, which import-linter enforces; tests/test_architecture.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from discreet.rendering.colors import BLUE, FAINT, GRAY, GRID_LINE, INK, VERMILLION

LAYERS: tuple[dict[str, str], ...] = (
    {"app": "curator, command line, servers, files: connects all packages"},
    {"papers": "five documents, recomputed"},
    {"mining": "models, many questions, synthetic tables", "attacks": "what an attacker finds; audits"},
    {"sql": "questions", "anonymity": "published tables", "local": "randomized at the source"},
    {"accounting": "composition of releases; the ledger"},
    {"engines": "where rows are counted", "mechanisms": "noise", "belief": "the promise"},
    {"core": "types that every package shares"},
)
QUERY_PATH_DOWN = {
    "app": "1  app reads",
    "sql": "2  sql plans",
    "accounting": "3  reserved",
    "engines": "4  engines count",
}
QUERY_PATH_UP = {"app": "7  app answers", "accounting": "6  settled", "engines": "5  mechanisms add noise"}
"""The path of a question: down to the rows, and up with the answer."""

LEFT, TOP, LAYERS_WIDTH, LAYER_HEIGHT, GAP = 16, 40, 540, 52, 14
LANE_POSITIONS, FOOT_HEIGHT = (592, 720), 40
DIAGRAM_WIDTH, FONT_FAMILY = 900, "DejaVu Sans, Helvetica, Arial, sans-serif"


def draw_package_diagram() -> str:
    """Return the packages as SVG; each is a group with its name as id."""
    height = _get_layer_top(len(LAYERS)) + FOOT_HEIGHT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{DIAGRAM_WIDTH}" height="{height}" '
        f'viewBox="0 0 {DIAGRAM_WIDTH} {height}" role="img" font-family="{FONT_FAMILY}" font-size="12">\n'
        "<title>The packages of discreet, and the path of a question through them</title>\n"
        f'<rect width="{DIAGRAM_WIDTH}" height="{height}" rx="8" fill="white"/>\n'
    )
    return head + "\n".join([*_draw_packages(), *_draw_query_path(), *_draw_legend(height)]) + "\n</svg>\n"


def _get_layer_top(place: int) -> int:
    return TOP + place * (LAYER_HEIGHT + GAP)


def _draw_packages() -> Iterator[str]:
    for place, layer in enumerate(LAYERS):
        width = (LAYERS_WIDTH - GAP * (len(layer) - 1)) // len(layer)
        for column, (name, said) in enumerate(layer.items()):
            x, y = LEFT + column * (width + GAP), _get_layer_top(place)
            yield (
                f'<g id="{name}"><rect x="{x}" y="{y}" width="{width}" height="{LAYER_HEIGHT}" rx="6" '
                f'fill="{GRID_LINE}" stroke="{GRAY}"/>'
                f"{_draw_text(x + width // 2, y + 20, name, weight='bold')}"
                f"{_draw_text(x + width // 2, y + 38, said, size=11)}</g>"
            )


def _draw_query_path() -> Iterator[str]:
    """Yield two lanes beside the packages: down to the rows, and up with the answer."""
    first, last = _get_package_middle("app"), _get_package_middle("engines")
    for lane, colour, steps, ends in zip(
        LANE_POSITIONS,
        (BLUE, VERMILLION),
        (QUERY_PATH_DOWN, QUERY_PATH_UP),
        ((first, last), (last, first)),
        strict=True,
    ):
        yield _draw_arrow(lane, *ends, colour)
        for room, said in steps.items():
            yield f'<circle cx="{lane}" cy="{_get_package_middle(room)}" r="4" fill="{colour}"/>'
            yield _draw_text(lane + 10, _get_package_middle(room) + 4, said, anchor="start")


def _get_package_middle(package: str) -> int:
    return (
        _get_layer_top(next(place for place, layer in enumerate(LAYERS) if package in layer))
        + LAYER_HEIGHT // 2
    )


def _draw_legend(height: int) -> Iterator[str]:
    yield _draw_text(LEFT, TOP - 16, "A package imports packages below it.", anchor="start", color=FAINT)
    yield _draw_text(LANE_POSITIONS[0] - 4, TOP - 16, "The path of a question", anchor="start", color=FAINT)
    told = "Only app imports engines, and only engines import drivers; all others receive an engine."
    yield _draw_text(LEFT, height - 20, told, anchor="start", color=FAINT)


def _draw_arrow(x: int, start: int, end: int, color: str) -> str:
    """Return a line with an arrowhead just before its end."""
    back = -9 if end > start else 9
    tip = end + (-5 if end > start else 5)
    return (
        f'<line x1="{x}" y1="{start}" x2="{x}" y2="{tip + back}" stroke="{color}" stroke-width="2"/>'
        f'<path d="M{x},{tip} l-5,{back} h10 z" fill="{color}"/>'
    )


def _draw_text(
    x: int,
    y: int,
    text: str,
    *,
    anchor: str = "middle",
    color: str = INK,
    size: int = 12,
    weight: str = "normal",
) -> str:
    look = f'text-anchor="{anchor}" fill="{color}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {look}>{escape(text)}</text>'
