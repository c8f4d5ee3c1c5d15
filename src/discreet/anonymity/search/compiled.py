"""Kernels are compiled by numba when first called, and kept on disk for the next process.

numba keeps them beside the module, or in the user's cache folder where that is not writable, or in
NUMBA_CACHE_DIR. Where no folder is writable at all they are compiled anew in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled form of a function over arrays and numbers."""
    try:
        return cast("Callable[P, R]", numba.njit(cache=True)(function))
    except RuntimeError:  # numba's word for: no folder to keep it in
        return cast("Callable[P, R]", numba.njit(function))
