"""m-invariance over two releases: whoever stays is seen among the same values, read from both files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from tests.services.test_promise import discreet

POLICY = """\
tables:
  people:
    source: people.csv
    person: name
    columns:
      name:    {role: identifier}
      age:     {type: integer, low: 0, high: 99, role: quasi}
      disease: {role: sensitive}
hierarchies:
  age: {widths: [5, 10]}
"""
FIRST = [("Ann", 21, "flu"), ("Bob", 22, "acne"), ("Cid", 31, "flu"), ("Dan", 33, "gout")]
# Ann and Bob stay, Cid is gone, Dan stays and meets somebody with another value than before
SECOND = [("Ann", 21, "flu"), ("Bob", 22, "acne"), ("Dan", 33, "gout"), ("Eve", 34, "acne")]


def run(folder: Path, rows: list[tuple[str, int, str]], name: str, *options: str) -> int:
    lines = ["name,age,disease", *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "privacy.yaml").write_text(POLICY)
    words = ("--policy", str(folder / "privacy.yaml"), "--m-invariance", "disease:2")
    output = str(folder / f"{name}.csv")
    return discreet("anonymize", "people", *words, "--suppress", "60%", *options, "-o", output)


def classes(folder: Path, name: str) -> dict[str, set[str]]:
    table: pa.Table = pacsv.read_csv(folder / f"{name}.csv")
    found: dict[str, set[str]] = {}
    for row in table.to_pylist():
        found.setdefault(str(row["age"]), set()).add(row["disease"])
    return found


def test_who_stays_is_seen_among_the_same_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FIRST, "first") == 0
    assert classes(tmp_path, "first") == {"[20, 24]": {"flu", "acne"}, "[30, 34]": {"flu", "gout"}}
    assert run(tmp_path, SECOND, "alone") == 0
    assert classes(tmp_path, "alone") == {"[20, 24]": {"flu", "acne"}, "[30, 34]": {"gout", "acne"}}
    assert run(tmp_path, SECOND, "second", "--earlier", str(tmp_path / "first.csv")) == 0
    assert classes(tmp_path, "second") == {"[20, 24]": {"flu", "acne"}}
    assert "2-invariance of disease" in capsys.readouterr().out


def test_the_signatures_are_private_and_remember_who_was_left_out(tmp_path: Path) -> None:
    assert run(tmp_path, FIRST, "first") == 0
    assert run(tmp_path, SECOND, "second", "--earlier", str(tmp_path / "first.csv")) == 0
    path = tmp_path / "second.signatures.parquet"
    assert path.stat().st_mode & 0o777 == 0o600
    held = {row["person"]: row["signature"] for row in pq.read_table(path).to_pylist()}
    both, other = '["acne", "flu"]', '["flu", "gout"]'
    assert held == {"Ann": both, "Bob": both, "Cid": other, "Dan": other}
    for name in ("second.csv", "second.certificate.json"):
        assert "Dan" not in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--earlier", "nothing.csv"), "does not hold the signatures of an earlier release"),
        (("--unit", "row", "--earlier", "first.csv"), "has no person column"),
        (("--m-invariance", "disease:2.5"), "--m-invariance must be"),
        (("--method", "local", "--earlier", "first.csv"), "do not overlap"),
    ],
)
def test_a_chain_that_cannot_be_followed_is_refused(
    tmp_path: Path,
    options: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, FIRST, "first") == 0
    capsys.readouterr()
    assert run(tmp_path, SECOND, "second", *options) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_an_earlier_release_without_the_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, FIRST, "first") == 0
    policy, earlier = str(tmp_path / "privacy.yaml"), str(tmp_path / "first.csv")
    assert discreet("anonymize", "people", "--policy", policy, "-k", "2", "--earlier", earlier) == 2
    assert "--m-invariance" in capsys.readouterr().err


def test_signatures_that_cannot_be_written_are_found_out_before_anything_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release without its signatures could not be followed by another one."""
    (tmp_path / "elsewhere.parquet").write_bytes(b"")
    (tmp_path / "first.signatures.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    assert run(tmp_path, FIRST, "first") == 2
    assert "a symbolic link" in capsys.readouterr().err
    assert not (tmp_path / "first.csv").exists()
