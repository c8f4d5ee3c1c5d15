"""Functions over arrays that numba compiles once and caches on disk for the next process.

numba caches them beside the module, in the user's cache folder where that is not writable, or in
NUMBA_CACHE_DIR. Where it can write to none of these, each process compiles again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compile_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Return the compiled form of a function."""
    try:
        return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba found no writable cache folder
        return cast("Callable[P, R]", numba.njit(nogil=True)(function))
