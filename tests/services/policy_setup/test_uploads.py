"""Uploaded files: names of our own, sizes, permissions."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from discreet.core.errors import RequestError
from discreet.services.policy_setup import uploads
from discreet.services.policy_setup.uploads import UploadTooLargeError, choose_upload_name, store_upload


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("visits.csv", "visits.csv"),
        ("../../../etc/passwd.csv", "passwd.csv"),
        ("..\\..\\visits.CSV", "visits.csv"),
        ("/tmp/a b/Besuche (2024).csv.gz", "Besuche_2024.csv.gz"),
        ("größe.xlsx", "gr_e.xlsx"),
        ("<img src=x onerror=alert(1)>.parquet", "img_src_x_onerror_alert_1.parquet"),
        (f"{'x' * 5_000}.arrow", f"{'x' * 60}.arrow"),
        ("....csv", "table.csv"),
    ],
)
def test_the_name_that_is_sent_is_never_a_path(name: str, stored: str, tmp_path: Path) -> None:
    with store_upload(tmp_path, name) as (path, writer):
        writer.write(b"a\n1\n")
    assert path == tmp_path / "data" / stored
    assert path.read_bytes() == b"a\n1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["", "visits", "visits.exe", "visits.duckdb", "visits.db", "a.parquet.gz", "..", "\0.csv"]
)
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(RequestError, match="cannot be brought in"):
        choose_upload_name(name)


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        with store_upload(tmp_path, "visits.csv") as (_, writer):
            writer.write(content)
    assert (tmp_path / "data/visits.csv").read_bytes() == b"first"
    assert (tmp_path / "data/visits_2.csv").read_bytes() == b"second"


def test_too_many_bytes_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 10)
    with pytest.raises(UploadTooLargeError), store_upload(tmp_path, "visits.csv") as (_, writer):
        writer.write(b"eleven " * 2)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RequestError, match="is a link"), store_upload(tmp_path, "visits.csv") as (_, writer):
        writer.write(b"a")
    assert list((tmp_path / "elsewhere").iterdir()) == []
