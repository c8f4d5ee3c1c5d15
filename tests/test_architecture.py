"""The picture of the rooms says what import-linter enforces, and what is there."""

from __future__ import annotations

import tomllib
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"


def enforced() -> list[set[str]]:
    """The layers of import-linter's contract, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["type"] == "layers"]
    return [{name.strip("() ").removeprefix("discreet.") for name in layer.split("|")} for layer in layers]


def drawn() -> list[set[str]]:
    """The rooms of the picture by how high they stand."""
    picture = ET.parse(ROOT / "docs" / "reference" / "rooms.svg")
    boxes = [
        (float(box.attrib["y"]), group.attrib["id"])
        for group in picture.iter(f"{SVG}g")
        for box in group.iter(f"{SVG}rect")
    ]
    return [{name for _, name in layer} for _, layer in groupby(sorted(boxes), key=lambda box: box[0])]


def test_the_picture_has_the_rooms_and_layers_that_import_linter_enforces() -> None:
    assert drawn() == enforced()


def test_every_room_is_in_the_picture_and_in_the_table() -> None:
    there = {path.parent.name for path in (ROOT / "src" / "discreet").glob("*/__init__.py")}
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert set.union(*drawn()) == there
    assert [room for room in there if f"| `{room}` |" not in text] == []
    assert "docs/reference/rooms.svg" in text
