"""Pictures of reports: what is drawn is as large as what it stands for, and nothing breaks the page."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from discreet.rendering.svg_charts import WIDTH, Bar, BarRow, draw_bars, draw_steps

NAMESPACE = {"s": "http://www.w3.org/2000/svg"}


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


def texts(picture: ET.Element) -> list[str]:
    return [each.text or "" for each in picture.findall(".//s:text", NAMESPACE)]


def row(name: str, *shares: float) -> BarRow:
    return BarRow(
        name=name, bars=tuple(Bar(share=share, color="red", label=f"{share:g}") for share in shares)
    )


@pytest.mark.parametrize("end", [1.0, 0.5, 0.03])
def test_bars_are_as_long_as_their_shares_and_say_them(end: float) -> None:
    picture = parsed(
        draw_bars([row("first", 0, end / 4), row("second", end)], title="right", bar_height=10, axis_end=end)
    )
    widths = [float(each.get("width", "")) for each in picture.findall("s:rect", NAMESPACE)]
    assert widths == [0, WIDTH / 4, WIDTH]
    assert {"first", "second", f"{end:g}", "right"} <= set(texts(picture))


def test_a_cap_stands_where_a_bar_of_its_share_would_end() -> None:
    picture = parsed(draw_bars([row("one", 0.3)], title="belief", bar_height=10, axis_end=0.6, cap=0.3))
    (bar,) = picture.findall("s:rect", NAMESPACE)
    (line,) = [each for each in picture.findall("s:line", NAMESPACE) if each.get("stroke-dasharray")]
    assert float(line.get("x1", "")) == pytest.approx(float(bar.get("x", "")) + float(bar.get("width", "")))


def test_nothing_of_a_name_is_read_as_markup() -> None:
    hostile = "<script>&\"'"
    assert texts(parsed(draw_bars([row(hostile, 0.5)], title=hostile, bar_height=10))).count(hostile) == 2


@pytest.mark.parametrize("points", [1, 3, 400])
def test_steps_rise_from_point_to_point_with_labels_that_do_not_touch(points: int) -> None:
    curve = [(place, place / points) for place in range(1, points + 1)]
    picture = parsed(draw_steps([("blue", curve)], x_title="size", title="share", height=100))
    path = picture.find("s:path", NAMESPACE)
    assert path is not None
    assert path.get("d", "").count("V") == points - 1
    below = [each for each in picture.findall("s:text", NAMESPACE) if each.get("y") == "122.0"]
    places = [float(each.get("x", "")) for each in below]
    assert places == sorted(places)
    assert all(right - left > 12 for left, right in pairwise(places))
