"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.services.sample import write_policy, write_samples

README = Path(__file__).parents[1] / "README.md"


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(example) == 1
    write_samples(tmp_path / "sample")
    write_policy(tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(example[0], names)
    assert getattr(names["answer"], "table").num_rows == 9  # noqa: B009


def test_every_verb_that_the_readme_uses_exists() -> None:
    from discreet.cli.main import COMMANDS

    used = set(re.findall(r"discreet ([a-z]+) (?:-|\")", README.read_text()))
    assert used
    assert used <= set(COMMANDS)


def test_every_page_that_the_readme_links_to_exists() -> None:
    for page in re.findall(r"\]\(([^)#:]+)\)", README.read_text()):
        assert (README.parent / page).exists(), page
