"""Kernels: functions over arrays that numba compiles once and keeps on disk for the next process.

numba keeps them beside the module, in the user's cache folder where that is not writable, or in
NUMBA_CACHE_DIR. Where none of them can be written to, each process compiles anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled form of a function."""
    try:
        return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba found no folder to keep it in
        return cast("Callable[P, R]", numba.njit(nogil=True)(function))
