"""Outputs of commands: refused before the charge where they cannot be written, cleaned up after a kill."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.core.release_target import ReleaseTarget
from discreet.services import count_publication
from discreet.services.anonymize import release_publishing
from discreet.services.anonymize.release_certificate import write_certificate
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy
from discreet.services.synthesize import synthetic_publication
from tests.patience import PATIENCE
from tests.services import patients
from tests.services.test_promise import discreet

COMMANDS = {
    "anonymize": ("anonymize", "patients", "-k", "2", "-o", "out.csv", "--force"),
    "synthesize": ("synthesize", "patients", "--columns", "sex,stays", "-o", "out.csv"),
    "tabulate": ("tabulate", "patients", "--columns", "sex", "-o", "out.csv"),
    "train": ("train", "tree", "patients", "--target", "disease", "-o", "out.json"),
    "plot": ("ask", "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", "--plot", "out.svg"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    patients.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_what_cannot_be_replaced_is_refused_before_anything_is_charged(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[name]
    output = folder / command[-1] if name in ("train", "plot") else folder / "out.csv"
    for make in (lambda: output.symlink_to("/dev/null"), lambda: output.write_bytes(b"PAR1 and more")):
        make()
        assert discreet(*command) == 2
        assert str(output.name) in capsys.readouterr().err
        with open_ledger_readonly(load_policy(folder / "privacy.yaml")) as ledger:
            assert ledger.list_entries() == []
        output.unlink()


@pytest.mark.parametrize("name", ["synthesize", "tabulate"])
def test_a_folder_in_which_no_file_can_be_made_is_found_out_before_the_charge(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root has every right in /proc, and makes no file there."""
    assert discreet(*("/proc/out.csv" if word == "out.csv" else word for word in COMMANDS[name])) == 2
    assert "/proc/out.csv" in capsys.readouterr().err
    with open_ledger_readonly(load_policy(folder / "privacy.yaml")) as ledger:
        assert ledger.list_entries() == []


@pytest.mark.parametrize("name", ["anonymize", "synthesize", "tabulate", "stream"])
@pytest.mark.parametrize("spelled", ["other.csv", "./other.csv"])
def test_another_table_of_the_policy_is_never_replaced(
    folder: Path, name: str, spelled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tabulate … -o visits.csv` wrote its counts over the visits."""
    rows = "who,n\n1,2\n"
    (folder / "other.csv").write_text(rows)
    policy = folder / "privacy.yaml"
    table = "  other:\n    source: other.csv\n    columns: {n: {type: integer, low: 0, high: 9}}\n"
    policy.write_text(policy.read_text().replace("tables:\n", f"tables:\n{table}", 1))
    (folder / "questions.sql").write_text("SELECT COUNT(*) FROM patients WHERE sex = 'f'\n")
    stream = ("stream", "patients", "questions.sql", "-o", "out.csv")
    command = COMMANDS.get(name, stream)
    assert discreet(*(spelled if word == "out.csv" else word for word in command)) == 2
    assert "is the table other of the policy" in capsys.readouterr().err
    assert (folder / "other.csv").read_text() == rows
    with open_ledger_readonly(load_policy(policy)) as ledger:
        assert ledger.list_entries() == []


def test_a_question_without_a_measure_is_not_charged_for_a_picture(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT MODE(sex) AS m FROM patients"
    assert discreet("ask", sql, "--plot", "out.svg") == 2
    assert "no measure to draw" in capsys.readouterr().err
    assert discreet("ask", sql, "--plot", "out.txt") == 2
    assert "A chart is" in capsys.readouterr().err


def test_a_killed_command_leaves_rows_that_the_next_one_removes(folder: Path) -> None:
    held = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from discreet.core.output_files import replace_output\n"
        "with replace_output(Path('rel.csv')) as draft:\n"
        "    draft.write_text('rows')\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
    assert list(folder.glob(".rel.csv.*"))
    assert discreet("promise", "--prior", "1%", "--posterior", "5%") == 0
    assert not list(folder.glob(".rel.csv.*"))


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of one megabyte."""
    place = tmp_path / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can be mounted by root alone")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_says_so(folder: Path, full: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (full / "ballast").write_bytes(bytes(1 << 20))
    for words in (
        ("tabulate", "patients", "--columns", "sex", "-o", str(full / "out.csv")),
        ("tabulate", "patients", "--columns", "sex", "-o", str(full / "out.parquet")),
        ("ask", "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", "--plot", str(full / "out.svg")),
    ):
        assert discreet(*words) == 2
        assert "its disk is full" in capsys.readouterr().err
    assert [path.name for path in full.iterdir()] == ["ballast"]


@pytest.mark.parametrize("name", ["anonymize", "synthesize", "tabulate"])
def test_rows_and_certificate_are_written_under_one_lock(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two commands with one output, the rows of one are never beside the certificate of the other."""
    taken = []

    def try_lock(content: dict[str, object], target: ReleaseTarget) -> Path:
        handle = os.open(target.file.absolute().parent, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            taken.append(target.file.exists())
        finally:
            os.close(handle)
        return write_certificate(content, target)

    for module in (release_publishing, synthetic_publication, count_publication):
        monkeypatch.setattr(module, "write_certificate", try_lock)
    assert discreet(*COMMANDS[name]) == 0
    assert taken == [True]
