"""Baskets as rows of bits, one for every item; exact sampling of the items that a client keeps.

Slots       A basket fills the first of `size` slots with its items; the other slots hold nothing that is ever
            sent. So baskets of different sizes are treated alike, and none reveals its size.
Truncation  Of a basket with more items than slots, a uniform choice of `size` items is used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, combinations

import numpy as np
import pyarrow as pa

from discreet.core.errors import require_parameter
from discreet.core.numba_kernels import compile_kernel
from discreet.core.randomness import Randomness
from discreet.local.exact_sampling import THRESHOLD_SCALE, sample_uniform
from discreet.mechanisms.sampling import Booleans, Integers, Words

WORD_BITS = 64


def pack_baskets(baskets: Sequence[Sequence[int]] | pa.ListArray, items: int) -> Words:
    """Return baskets, lists of item numbers, as rows of bits in 64-bit words, the first item lowest.

    >>> pack_baskets([[0, 2], []], items=3)
    array([[5],
           [0]], dtype=uint64)
    """
    lists = _to_list_array(baskets)
    flat = lists.flatten().to_numpy(zero_copy_only=False)
    inside = flat.size == 0 or (int(flat.min()) >= 0 and int(flat.max()) < items)
    require_parameter(
        inside, "pack_baskets", "baskets", "an item outside of the domain", f"items from 0 to {items - 1}"
    )
    rows = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy(zero_copy_only=False))
    return pack_pairs(rows, flat.astype(np.int64), len(lists), items)


def pack_pairs(baskets: Integers, codes: Integers, count: int, items: int) -> Words:
    """Return `count` baskets as rows of bits, from pairs of a basket's and an item's number, both from 0."""
    words = np.zeros((count, -(-items // WORD_BITS)), np.uint64)
    _set_bits(words, baskets, codes)
    return words


def _to_list_array(baskets: Sequence[Sequence[int]] | pa.ListArray) -> pa.ListArray:
    """Return the baskets as a list array of integers, none of them NULL."""
    try:
        lists = baskets if isinstance(baskets, pa.ListArray) else pa.array(baskets, pa.list_(pa.int64()))
        kind = lists.type.value_type
        holds = pa.types.is_integer(kind) and not lists.null_count and not lists.flatten().null_count
    except (pa.ArrowException, TypeError, ValueError):
        holds = False
    require_parameter(holds, "pack_baskets", "baskets", "something else", "lists of the numbers of items")
    return lists


def list_all_baskets(items: int, size: int) -> Words:
    """Return every basket of at most `size` items, smaller ones first."""
    return pack_baskets(
        [some for held in range(size + 1) for some in combinations(range(items), held)], items
    )


def require_baskets(owner: object, baskets: Words, items: int) -> Words:
    """Return rows of bits; the error names no item."""
    rows = np.asarray(baskets)
    words = -(-items // WORD_BITS)
    holds = rows.ndim == 2 and rows.dtype == np.uint64 and rows.shape[1] == words
    require_parameter(
        holds,
        owner,
        "baskets",
        "something else",
        f"rows of {words} 64-bit words, as `pack_baskets` makes them",
    )
    spare = words * WORD_BITS - items
    inside = not spare or not np.any(rows[:, -1] >> np.uint64(WORD_BITS - spare))
    require_parameter(
        inside, owner, "baskets", "an item outside of the domain", f"items from 0 to {items - 1}"
    )
    return rows


def count_items(baskets: Words) -> Integers:
    """Return the number of items of each basket."""
    return np.asarray(np.bitwise_count(baskets).sum(axis=1), np.int64)


def truncate_baskets(baskets: Words, size: int, random: Randomness) -> Words:
    """Truncate baskets of more than `size` items to a uniform choice of that many."""
    many = count_items(baskets)
    rows = baskets.copy() if np.any(many > size) else baskets
    for count in np.unique(many[many > size]).tolist():
        of_count = np.flatnonzero(many == count)
        some = rows[of_count]
        set_shown_items(some, some.copy(), sample_slots(count, np.full(of_count.size, size), random))
        rows[of_count] = some
    return rows


def sample_slots(slots: int, need: Integers, random: Randomness) -> Booleans:
    """Return for each client a uniform choice of `need` slots, decided slot by slot."""
    chosen, left = np.zeros((need.size, slots), np.bool_), need.copy()
    for slot in range(slots):
        chosen[:, slot] = sample_uniform(slots - slot, need.size, random) < left
        left -= chosen[:, slot]
    return chosen


def sample_law(law: Sequence[Fraction], count: int, random: Randomness) -> Integers:
    """Return independent numbers j of probability law[j], exactly, for any fractions.

    64 bits of a uniform number nearly always decide between which boundaries it lies; on a tie with a
    boundary's first bits, further bits are read until it is decided.
    """
    last = max(j for j, chance in enumerate(law) if chance)
    bounds = list(accumulate(law[:last]))
    floors = np.array([bound * THRESHOLD_SCALE // 1 for bound in bounds], np.uint64)
    words = random.draw_words(count)
    found = np.searchsorted(floors, words, side="right")
    for place in np.flatnonzero(np.isin(words, floors)).tolist():
        found[place] = _resolve_tie(bounds, int(words[place]), random)
    return found


def _resolve_tie(bounds: Sequence[Fraction], word: int, random: Randomness) -> int:
    """Return the number j of a tied word, by reading further bits."""
    scale = THRESHOLD_SCALE
    while True:
        low, high = Fraction(word, scale), Fraction(word + 1, scale)
        if not any(low < bound < high for bound in bounds):
            return bisect_right(bounds, low)
        word, scale = (word << WORD_BITS) + random.draw_bits(WORD_BITS), scale << WORD_BITS


@compile_kernel
def _set_bits(words: Words, rows: Integers, items: Integers) -> None:
    for i in range(rows.size):
        words[rows[i], items[i] >> 6] |= np.uint64(1) << np.uint64(items[i] & 63)


@compile_kernel
def set_shown_items(words: Words, baskets: Words, shown: Booleans) -> None:
    """Set the bits of each basket's items according to its shown slots; other bits stay."""
    for i in range(words.shape[0]):
        slot = 0
        for j in range(words.shape[1]):
            left = baskets[i, j]
            while left:
                mask = left & (~left + np.uint64(1))
                if shown[i, slot]:
                    words[i, j] |= mask
                else:
                    words[i, j] &= ~mask
                left ^= mask
                slot += 1
