"""What the benchmarks ran on, in one line: processor, cores, memory, system, and the versions that matter."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "opendp", "dp-accounting", "duckdb")
PROCESSORS = Path("/proc/cpuinfo")


def described() -> str:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    hardware = f"{_processor()}, {os.cpu_count()} cores, {gib:.0f} GiB of memory"
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{hardware}; {platform.system()}, Python {platform.python_version()}, {versions}"


def _processor() -> str:
    """The name that the processor gives itself, where the system tells it."""
    lines = PROCESSORS.read_text().splitlines() if PROCESSORS.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
