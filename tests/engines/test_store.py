"""The prepared store: kept, whole and private, and built anew when policy or data change."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.errors import RequestError
from discreet.engines.prepared_store import STORE_FORMAT, PreparedStore, drop_store_file, prepare_store
from tests.engines.stores import VISITS, policy_of, rows_of, visits_of
from tests.patience import PATIENCE

SAMPLE = {"user": ["a", "a", "b"], "city": ["Ulm", "Bonn", "Ulm"], "age": [1, 2, 3], "note": ["x", "y", "z"]}
ALL = "SELECT * FROM t ORDER BY ALL"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table(SAMPLE), path)
    return path


def touched(path: Path) -> None:
    seen = path.stat()
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns + 1_000))


def test_a_store_is_kept_until_the_policy_or_the_data_change(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "store"
    told: list[str] = []
    first = prepare_store(visits_of(source), folder, progress=told.append)
    assert told == ["preparing table t"]
    assert prepare_store(visits_of(source), folder, progress=told.append) == first
    assert len(told) == 1, "nothing was prepared again"
    before = rows_of(first, ALL)

    touched(source)
    second = prepare_store(visits_of(source), folder)
    assert second != first
    assert rows_of(second, ALL) == before, "the same key ranks the same rows in the same way"

    wider = policy_of(source, {**VISITS, "age": {"type": "integer", "low": 0, "high": 2}}, person="user")
    del first, second  # what is in use is not dropped
    third = prepare_store(wider, folder)
    assert sorted(row[1] for row in rows_of(third)) == [1, 2, 2]
    assert [path.name for path in folder.glob("store-*")] == [third.path.name if third.path else None]


def test_a_store_of_another_format_is_not_used(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prepare_store(visits_of(source), tmp_path / "store")
    monkeypatch.setattr("discreet.engines.prepared_store.STORE_FORMAT", STORE_FORMAT + 1)
    assert prepare_store(visits_of(source), tmp_path / "store") != first


def test_a_new_file_under_the_glob_is_new_data(tmp_path: Path, source: Path) -> None:
    policy = visits_of(tmp_path / "*.parquet")
    assert len(rows_of(prepare_store(policy, tmp_path / "store"))) == 3
    pq.write_table(pa.table(SAMPLE), tmp_path / "more.parquet")
    assert len(rows_of(prepare_store(policy, tmp_path / "store"))) == 6


def test_only_the_owner_can_enter(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "deep" / "store"
    umask = os.umask(0)
    try:
        prepare_store(visits_of(source), folder)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert len((folder / "key").read_bytes()) == 32


def test_a_folder_that_is_open_to_others_is_closed_if_it_is_ours_alone(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o755)
    prepare_store(visits_of(source), folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    (folder / "letters.txt").write_text("")
    with pytest.raises(RequestError, match="is open to others and holds other files"):
        prepare_store(visits_of(source), folder)
    with pytest.raises(RequestError, match="cannot be created"):
        prepare_store(visits_of(source), source)


def test_what_a_crash_left_behind_is_cleared(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "store"
    (folder / "building-dead").mkdir(parents=True)
    (folder / "building-dead" / "store.duckdb").write_text("half")
    (folder / "key").write_bytes(b"cut short")
    folder.chmod(0o700)
    store = prepare_store(visits_of(source), folder)
    assert len(rows_of(store)) == 3
    assert len((folder / "key").read_bytes()) == 32
    assert not list(folder.glob("building-*"))


def test_sources_that_change_while_they_are_read_are_read_again(tmp_path: Path, source: Path) -> None:
    told: list[str] = []

    def change(times: int) -> Callable[[str], None]:
        def hear(text: str) -> None:
            told.append(text)
            if len(told) <= times:
                touched(source)

        return hear

    assert len(rows_of(prepare_store(visits_of(source), tmp_path / "store", progress=change(1)))) == 3
    assert len(told) == 2
    touched(source)
    with pytest.raises(RequestError, match="the sources changed while they were read"):
        prepare_store(visits_of(source), tmp_path / "store", progress=change(1_000))


def test_one_waits_while_another_prepares_and_then_takes_what_it_made(tmp_path: Path, source: Path) -> None:
    begun, finish, waiting = threading.Event(), threading.Event(), threading.Event()
    told: list[str] = []
    made: list[PreparedStore] = []

    def work(hear: Callable[[str], None]) -> threading.Thread:
        def run() -> None:
            made.append(prepare_store(visits_of(source), tmp_path / "store", progress=hear))

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def hold(_: str) -> None:
        begun.set()
        finish.wait(PATIENCE)

    def hear(text: str) -> None:
        told.append(text)
        waiting.set()

    first = work(hold)
    assert begun.wait(PATIENCE)
    second = work(hear)
    assert waiting.wait(PATIENCE)
    finish.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert told == ["waiting for another process that is preparing the store"]
    assert made == [made[0]] * 2
    assert len(rows_of(made[0])) == 3


SCRIPT = """
import sys
from pathlib import Path
from discreet.core.policy import Policy
from discreet.engines.prepared_store import prepare_store
print(prepare_store(Policy.model_validate_json(sys.argv[1]), Path(sys.argv[2])).path.name)
"""


def test_processes_that_prepare_at_once_end_with_one_whole_store(tmp_path: Path, source: Path) -> None:
    policy, folder = visits_of(source), tmp_path / "store"
    arguments = [sys.executable, "-c", SCRIPT, json.dumps(policy.model_dump(mode="json")), str(folder)]
    running = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    names = {process.communicate(timeout=PATIENCE)[0].strip() for process in running}
    (path,) = folder.glob("store-*")
    assert names == {path.name}
    assert prepare_store(policy, folder).path == path
    assert len(rows_of(PreparedStore(path=path))) == 3


def test_a_store_that_another_process_uses_is_dropped_when_nobody_does(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "store"
    first = prepare_store(visits_of(source), folder)
    touched(source)
    program = (
        "import sys; from pathlib import Path; from discreet.core.policy import Policy;"
        "from discreet.engines.prepared_store import prepare_store;"
        "print(prepare_store(Policy.model_validate_json(sys.argv[1]), Path(sys.argv[2])).path.name)"
    )
    command = [sys.executable, "-c", program, visits_of(source).model_dump_json(), str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert first.path is not None
    assert {path.name for path in folder.glob("store-*")} == {first.path.name, made}
    assert len(rows_of(first)) == 3, "an engine that is opened later finds its store"
    del first
    touched(source)
    last = prepare_store(visits_of(source), folder)
    assert list(folder.glob("store-*")) == [last.path]
    assert len(list(folder.glob("used-*"))) == 1


def test_a_store_that_was_dropped_is_built_again_by_whoever_wants_to_use_it(
    tmp_path: Path, source: Path
) -> None:
    path = prepare_store(visits_of(source), tmp_path / "store").path
    assert path is not None
    assert drop_store_file(path)
    again = prepare_store(visits_of(source), tmp_path / "store")
    assert again.path == path
    assert not drop_store_file(path), "it is in use"
    assert len(rows_of(again)) == 3
