"""ARX, which is on no package index: run from its published jar, at which DISCREET_ARX points.

The jar is `libarx` with all that it needs inside. Java compiles `Arx.java` against it and runs it at once, so
that nothing is left behind; a jar that is none, or no Java, is a line in the report.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from benchmarks.peers.environments import Told, told_by

VARIABLE = "DISCREET_ARX"
PROGRAM = Path(__file__).with_name("Arx.java")
MARK = "org/deidentifier/arx/ARXAnonymizer.class"


def name() -> str:
    """ARX, and which, as its file says."""
    place = os.environ.get(VARIABLE, "")
    return f"ARX ({Path(place).stem})" if place and not missing() else "ARX"


def missing() -> str:
    """Why it cannot be run, if it cannot."""
    place = os.environ.get(VARIABLE, "")
    if not place:
        return f"not pointed at a jar: set {VARIABLE}"
    if not Path(place).is_file():
        return f"{VARIABLE} points at no file"
    if not _is_arx(Path(place)):
        return f"{VARIABLE} points at no jar of ARX"
    return "" if shutil.which("java") else "no java to run it"


def generalize(folder: Path, k: int, suppressed: float, *, seconds: float) -> Told:
    """The levels of the generalization with the least loss that is k-anonymous, and how long it took."""
    problem = missing()
    if problem:
        return Told(found=[], problem=problem)
    jar = str(Path(os.environ[VARIABLE]).resolve())
    words = [str(folder.resolve()), str(k), str(suppressed)]
    return told_by(["java", "-cp", jar, str(PROGRAM), *words], seconds)


def _is_arx(jar: Path) -> bool:
    if not zipfile.is_zipfile(jar):
        return False
    with zipfile.ZipFile(jar) as held:
        return MARK in held.namelist()
