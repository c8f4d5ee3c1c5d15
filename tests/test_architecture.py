"""Pages for maintainers match the tree: the diagram of packages, their descriptions, and named files."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "benchmarks")
MAX_BYTES = 10_000
MIN_TERMS = 40
SVG = "{http://www.w3.org/2000/svg}"


def enforced() -> list[set[str]]:
    """The layers of the packages in import-linter's contract, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if "discreet.cli" in each.get("layers", ())]
    return [{name.strip("() ").removeprefix("discreet.") for name in layer.split("|")} for layer in layers]


def drawn() -> list[set[str]]:
    """Packages of the diagram by layer, the highest first."""
    picture = ET.parse(ROOT / "docs" / "reference" / "packages.svg")
    boxes = [
        (float(box.attrib["y"]), group.attrib["id"])
        for group in picture.iter(f"{SVG}g")
        for box in group.iter(f"{SVG}rect")
    ]
    return [{name for _, name in layer} for _, layer in groupby(sorted(boxes), key=lambda box: box[0])]


def test_the_picture_has_the_packages_and_layers_that_import_linter_enforces() -> None:
    assert drawn() == enforced()


def test_every_package_is_in_the_picture_and_in_the_table() -> None:
    there = {path.parent.name for path in (ROOT / "src" / "discreet").glob("*/__init__.py")}
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert set.union(*drawn()) == there
    assert [package for package in there if f"| `{package}` |" not in text] == []
    assert "docs/reference/packages.svg" in text


def test_every_package_says_in_a_paragraph_what_belongs_there() -> None:
    for path in (ROOT / "src").rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert len(said.split()) >= 20, path.relative_to(ROOT)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_names_exists(page: str) -> None:
    named = re.findall(r"`([\w/]+\.(?:py|html|js))`", (ROOT / page).read_text())
    there = {f"/{path.relative_to(ROOT)}" for package in FOLDERS for path in (ROOT / package).rglob("*.*")}
    assert named
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_name_that_a_page_finds_in_a_file_is_there(page: str) -> None:
    found = re.findall(r"`(\w+)` of `([\w/]+\.py)`", (ROOT / page).read_text())
    there = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    for name, file in found:
        texts = [path.read_text() for path in there if f"/{path.relative_to(ROOT)}".endswith(f"/{file}")]
        assert any(re.search(rf"\b{name}\b", text) for text in texts), f"{name} of {file}"


def test_every_term_of_the_glossary_has_one_meaning_and_the_names_that_peers_use() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\*(.*)$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    terms = [term for names, _ in rows for term in names.split(", ")]
    assert 0 < len(rows) <= 60
    assert [term for term, times in Counter(terms).items() if times > 1] == []
    assert [term for term, rest in rows if rest.count("|") != 6] == []


def test_the_way_in_is_read_at_one_sitting() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| (.+?) \| .*`[\w/]+\.py`", page.partition("## If you look for")[2], re.MULTILINE)
    terms = [term for row in rows for term in re.split(r", (?![^()]*\))", row)]
    assert len(page.encode()) <= MAX_BYTES
    assert page.count("![") == 1
    assert len(terms) >= MIN_TERMS
    assert [term for term, times in Counter(terms).items() if times > 1] == []
