"""Pictures of reports: what is drawn is as large as what it stands for, and nothing breaks the page."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from discreet.rendering.charts import WIDTH, Bar, BarRow, draw_bars, draw_steps

NAMESPACE = {"s": "http://www.w3.org/2000/svg"}


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


def texts(picture: ET.Element) -> list[str]:
    return [each.text or "" for each in picture.findall(".//s:text", NAMESPACE)]


def paths(picture: ET.Element, color: str) -> list[str]:
    found = picture.findall(".//s:path", NAMESPACE)
    return [each.get("d", "") for each in found if color in (each.get("fill"), each.get("stroke"))]


def widths(picture: ET.Element) -> list[float]:
    """How long the bars are, which are rectangles from the left: M0,0h120v11h-120Z."""
    return [float(re.findall(r"h([\d.]+)v", each)[0]) for each in paths(picture, "red")]


def shifts(elements: list[ET.Element]) -> list[tuple[float, float]]:
    """Where elements are moved to."""
    found = [re.findall(r"translate\(([^,]+),([^)]+)\)", each.get("transform", "")) for each in elements]
    return [(float(x), float(y)) for ((x, y), *_) in found]


def row(name: str, *shares: float) -> BarRow:
    return BarRow(
        name=name, bars=tuple(Bar(share=share, color="red", label=f"{share:g}") for share in shares)
    )


@pytest.mark.parametrize("end", [1.0, 0.5, 0.03])
def test_bars_are_as_long_as_their_shares_and_say_them(end: float) -> None:
    picture = parsed(
        draw_bars([row("first", 0, end / 4), row("second", end)], title="right", bar_height=10, axis_end=end)
    )
    assert widths(picture) == pytest.approx([0, WIDTH / 4, WIDTH])
    assert {"first", "second", f"{end:g}", "right"} <= set(texts(picture))


def test_a_cap_stands_where_a_bar_of_its_share_would_end() -> None:
    picture = parsed(draw_bars([row("one", 0.3)], title="belief", bar_height=10, axis_end=0.6, cap=0.3))
    lines = [each for each in picture.findall(".//s:line", NAMESPACE) if each.get("stroke-dasharray")]
    ((x, _),) = shifts(lines)
    assert [x] == pytest.approx(widths(picture))


def test_nothing_of_a_name_is_read_as_markup() -> None:
    hostile = "<script>&\"'"
    assert texts(parsed(draw_bars([row(hostile, 0.5)], title=hostile, bar_height=10))).count(hostile) == 2


@pytest.mark.parametrize("points", [1, 3, 400])
def test_steps_rise_from_point_to_point_with_labels_that_do_not_touch(points: int) -> None:
    curve = [(place, place / points) for place in range(1, points + 1)]
    picture = parsed(draw_steps([("blue", curve)], x_title="size", title="share", height=100))
    (path,) = [each for each in paths(picture, "blue") if "a" not in each.lower()]
    corners = [tuple(map(float, each.split(","))) for each in re.findall(r"[ML]([\d.,]+)", path)]
    assert sum(one[1] > two[1] for one, two in pairwise(corners)) == points - 1
    assert all(one[0] == two[0] or one[1] == two[1] for one, two in pairwise(corners))
    shown = [
        each
        for each in picture.findall(".//s:text", NAMESPACE)
        if each.get("opacity") != "0" and re.fullmatch(r"[\d.]+k?", each.text or "")
    ]
    places = [x for x, _ in shifts(shown)]
    assert places == sorted(places)
    assert all(right - left > 12 for left, right in pairwise(places))
