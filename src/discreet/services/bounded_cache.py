"""A cache of a bounded number of values, of which the one that was used least recently makes room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True)
class BoundedCache(Generic[K, V]):
    """Up to `size` values by key, for several threads.

    >>> cache: BoundedCache[str, int] = BoundedCache(2)
    >>> [cache.get_or_compute(name, lambda: len(name)) for name in ("a", "bb", "ccc", "bb")]
    [1, 2, 3, 2]
    """

    size: int
    _values: OrderedDict[K, V] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get_or_compute(
        self, key: K, compute: Callable[[], V], *, is_kept: Callable[[V], bool] = lambda _: True
    ) -> V:
        """Return the value of a key, computed if it is not cached; keep it if `is_kept`.

        Two threads may compute the same value at once.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = compute()
        if is_kept(value):
            with self._lock:
                self._values[key] = value
                if len(self._values) > self.size:
                    self._values.popitem(last=False)
        return value
