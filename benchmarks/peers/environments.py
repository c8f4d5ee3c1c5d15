"""A throw-away environment for each peer, since they pin versions that exclude each other.

Environments stand under `build/peers` and are kept between runs, until what they require changes. A peer that
does not install, does not run or does not come to an end is a line in the report, never a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "peers"
INSTALLING = 600
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One other system: the module that runs it, and what pip installs for that."""

    name: str
    module: str
    requires: tuple[str, ...]

    @property
    def version(self) -> str:
        return self.requires[0].partition("==")[2]

    @property
    def python(self) -> Path:
        return FOLDER / self.module / "bin" / "python"


OPENDP = Peer(name="OpenDP-Polars", module="opendp_polars", requires=("opendp[polars]==0.16.0",))
SMARTNOISE = Peer(
    name="SmartNoise-SQL", module="smartnoise_sql", requires=("smartnoise-sql==1.0.10", "pyarrow==26.0.1")
)
QRLEW = Peer(
    name="Qrlew on DuckDB", module="qrlew", requires=("pyqrlew==0.9.27", "duckdb==2.0.0", "pyarrow==26.0.1")
)
PIPELINE_DP = Peer(name="PipelineDP", module="pipelinedp", requires=("pipeline-dp==0.3.1", "pyarrow==26.0.1"))
TUMULT = Peer(name="Tumult Analytics", module="tumult", requires=("tmlt.analytics==0.21.0",))
DIFFPRIVLIB = Peer(
    name="diffprivlib",
    module="diffprivlib_tools",
    # later versions of scikit-learn have dropped what it imports
    requires=("diffprivlib==0.6.6", "scikit-learn==1.6.1", "pyarrow==26.0.1"),
)
ANJANA = Peer(name="anjana", module="anjana", requires=("anjana==1.2.3",))
PYCANON = Peer(name="pycanon", module="pycanon", requires=("pycanon==1.3.6",))
ANONYPY = Peer(name="anonypy", module="anonypy", requires=("anonypy==0.2.1", "pandas==2.3.3"))
CROWDS = Peer(name="crowds", module="crowds", requires=("crowds==0.0.1", "pandas==2.3.3"))
PURE_LDP = Peer(
    name="pure-ldp",
    module="pure_ldp_oracles",
    # it imports two that it does not name, and fails with xxhash 4
    requires=("pure-ldp==1.2.0", "scikit-learn==1.9.1", "statsmodels==0.15.0", "xxhash==3.8.2"),
)
MULTI_FREQ_LDPY = Peer(
    name="multi-freq-ldpy",
    module="multi_freq_ldpy_oracles",
    requires=("multi-freq-ldpy==0.2.5", "xxhash==3.8.2"),
)
DIFFPRIVLIB_MODELS = Peer(
    name="diffprivlib",
    module="diffprivlib_models",
    requires=("diffprivlib==0.6.6", "scikit-learn==1.6.1"),
)
INTERPRET = Peer(
    name="InterpretML", module="interpret_ebm", requires=("interpret-core==0.7.8", "scikit-learn==1.9.1")
)

DPMM = Peer(name="dpmm", module="dpmm_models", requires=("dpmm==0.1.9",))


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a peer reported, and in one line why there is not more."""

    found: list[dict[str, Any]]
    problem: str = ""


def install(peers: tuple[Peer, ...], progress: Progress) -> dict[Peer, str]:
    """Make the environments that are missing, two at a time; what went wrong with each, if anything."""
    with ThreadPoolExecutor(max_workers=2) as workers:
        return dict(zip(peers, workers.map(lambda peer: _install(peer, progress), peers), strict=True))


def run(peer: Peer, *words: str, seconds: float) -> Told:
    """Run a peer's verb in its environment; what it reported until it ended or had to."""
    command = [str(peer.python), "-W", "ignore", "-m", f"benchmarks.peers.{peer.module}", *words]
    return told_by(command, seconds, PYTHONPATH=str(ROOT), PYSPARK_PYTHON=str(peer.python))


def told_by(command: list[str], seconds: float, **settings: str) -> Told:
    """What a command reported, one JSON object a line, until it ended or had to."""
    with tempfile.TemporaryDirectory(prefix="discreet-peer-") as folder:
        known = {**_clean(), **settings}
        with (
            open(Path(folder) / "out", "w+") as out,
            open(Path(folder) / "err", "w+") as err,
            subprocess.Popen(
                command, cwd=folder, env=known, stdout=out, stderr=err, start_new_session=True
            ) as process,
        ):
            try:
                problem = f"ended with {process.returncode}" if process.wait(seconds) else ""
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what it started, such as Java
                problem = f"not done after {seconds:.0f} s"
        found = [json.loads(line) for line in _lines(out.name) if line.startswith("{")]
        if problem.startswith("ended"):
            problem = _last_line(Path(err.name).read_text()) or problem
        return Told(found=found, problem=problem)


def _install(peer: Peer, progress: Progress) -> str:
    place, stamp = FOLDER / peer.module, FOLDER / peer.module / "installed"
    wanted = f"{sys.version}\n" + "\n".join(peer.requires)
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    progress(f"installing {peer.name} …")
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    problem = _with_pip(place) or _quiet(
        [str(peer.python), "-m", "pip", "install", "--quiet", *peer.requires]
    )
    if not problem:
        stamp.write_text(wanted)
    return f"did not install: {problem}" if problem else ""


def _with_pip(place: Path) -> str:
    """A new environment; where venv cannot bring pip, the pip that runs here puts one in."""
    if not _quiet([sys.executable, "-m", "venv", str(place)]):
        return ""
    shutil.rmtree(place, ignore_errors=True)
    python = str(place / "bin" / "python")
    return _quiet([sys.executable, "-m", "venv", "--without-pip", str(place)]) or _quiet(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "pip"]
    )


def _quiet(command: list[str]) -> str:
    """Run a command; nothing if it succeeded, else its last line."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALLING, env=_clean(), check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {INSTALLING} s"
    return "" if done.returncode == 0 else _last_line(done.stderr + done.stdout) or "unknown reason"


def _clean() -> dict[str, str]:
    """The environment without what would tie a peer to our own packages and versions."""
    tied = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT")
    return {name: value for name, value in os.environ.items() if name not in tied}


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _last_line(text: str, most: int = 160) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace(f"{ROOT}/", "").replace("|", "/")[:most] if lines else ""
