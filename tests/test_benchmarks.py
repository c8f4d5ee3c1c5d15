"""The benchmarks' report: peers that cannot be run say why, and pictures show what the tables say."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from benchmarks import charts
from benchmarks.peers import arx

BENCHMARKS = Path(arx.__file__).parents[1]
SPEED = """## Speed beside other systems

| system | seconds | × raw DuckDB | remark |
| --- | --- | --- | --- |
| DuckDB, raw | 0.1 | 1× | not private |
| discreet | 0.3 | 2.75× |  |
| another | – | – | not done after 360 s |
"""


def generalized(folder: Path) -> str:
    told = arx.generalize(folder, 5, 0.02, seconds=60)
    assert told.found == []
    return told.problem


def test_without_a_jar_the_row_of_arx_says_how_to_point_at_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(arx.VARIABLE, raising=False)
    assert generalized(tmp_path) == "not pointed at a jar: set DISCREET_ARX"
    assert arx.name() == "ARX"


def test_what_is_no_jar_of_arx_is_told_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "libarx-0.jar"
    monkeypatch.setenv(arx.VARIABLE, str(jar))
    assert generalized(tmp_path) == "DISCREET_ARX points at no file"
    jar.write_text("no archive")
    assert generalized(tmp_path) == "DISCREET_ARX points at no jar of ARX"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("org/another/Program.class", b"")
    assert generalized(tmp_path) == "DISCREET_ARX points at no jar of ARX"


@pytest.mark.skipif(shutil.which("java") is None, reason="no java")
def test_a_jar_that_does_not_run_is_a_line_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "libarx-0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(arx.MARK, b"no class")
    monkeypatch.setenv(arx.VARIABLE, str(jar))
    assert arx.name() == "ARX (libarx-0)"
    assert generalized(tmp_path) != ""


def test_a_chart_shows_the_numbers_of_its_table_and_nothing_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "FOLDER", tmp_path / "charts")
    title = "Speed beside other systems"
    assert charts.drawn(title, SPEED) == f"![{title}](charts/speed.svg)"
    picture = (tmp_path / "charts" / "speed.svg").read_text()
    assert "2.75" in picture
    assert "another" not in picture
    assert charts.drawn(title, SPEED.partition("| DuckDB")[0]) == ""
    assert charts.drawn("Ledger throughput", SPEED) == ""


def test_the_report_has_every_section_of_the_harness_and_every_picture_that_it_names() -> None:
    titles = re.findall(r'title="([^"]+)"', (BENCHMARKS / "run.py").read_text())
    report = (BENCHMARKS / "RESULTS.md").read_text()
    assert titles
    assert [title for title in titles if f"\n## {title}\n" not in report] == []
    assert [
        name for name in re.findall(r"\]\((charts/.+?)\)", report) if not (BENCHMARKS / name).is_file()
    ] == []
