"""The notebooks run, and print what they show; numbers that are noise may be others.

By day their cells are run in this process, by night in a kernel of Jupyter. What they show is renewed by
`jupyter execute --inplace examples/*.ipynb`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import words

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def run(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and what its last line comes to, as Jupyter would show it."""
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue(), value


def shown(cell: dict[str, Any]) -> str:
    streams = [each["text"] for each in cell["outputs"] if each["output_type"] == "stream"]
    return "".join("".join(each) for each in streams)


def pictured(cell: dict[str, Any]) -> bool:
    return any("image/png" in each.get("data", {}) for each in cell["outputs"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            printed, value = run(source, names)
            assert words(printed) == words(shown(cell)), source
            assert hasattr(value, "to_dict") or not pictured(cell), source


@pytest.mark.night
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_jupyter(path: Path, tmp_path: Path) -> None:
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    before = [pictured(cell) for cell in notebook.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [pictured(cell) for cell in notebook.cells if cell.cell_type == "code"] == before
