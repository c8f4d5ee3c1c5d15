"""Finite fields of a few elements, as tables: g prime, or a power of 2.

Linear functions over a field are a small hash family that is exactly pairwise independent: if v and v'
differ, then <s, v> = <s, v'> for exactly 1 / g of all s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameterError
from discreet.mechanisms.sampling import Integers

Array = NDArray[np.generic]


@dataclass(frozen=True)
class FiniteField:
    """Addition and multiplication tables of the elements 0 .. size - 1."""

    size: int
    add: Integers
    multiply: Integers


def is_field_size(size: int) -> bool:
    """Return True if this module can build a field of this size.

    >>> [size for size in range(2, 20) if is_field_size(size)]
    [2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19]
    """
    prime = size > 1 and all(size % each for each in range(2, int(size**0.5) + 1))
    return prime or (size > 1 and size & (size - 1) == 0)


@lru_cache(maxsize=32)
def make_finite_field(size: int) -> FiniteField:
    """Return the field: remainders modulo a prime, or polynomials over GF(2) modulo an irreducible one."""
    if not is_field_size(size):
        raise InvalidParameterError(f"make_finite_field.size must be a prime or a power of 2; got {size}.")
    one, other = np.arange(size)[:, None], np.arange(size)[None, :]
    if size & (size - 1):
        return FiniteField(size, (one + other) % size, (one * other) % size)
    if size == 2:
        return FiniteField(size, one ^ other, one & other)
    modulus = _find_irreducible_polynomial(size)
    products = [
        [_reduce_polynomial(_multiply_polynomials(a, b), modulus) for b in range(size)] for a in range(size)
    ]
    return FiniteField(size, one ^ other, np.array(products))


def transform_counts(cells: Integers, field: FiniteField, digits: int) -> Integers:
    """Return for every v the sum over s of c[s, <s, v>], computed one digit at a time.

    T(v1 .. vj; s(j+1) .. sm; y) is the sum over s1 .. sj of c[s, y + s1 v1 + ... + sj vj]; each digit takes
    g**2 additions of slices, where all s with all v would take g**m of them.
    """
    g, table = field.size, cells
    for digit in range(digits):
        shape = (g**digit, g, g ** (digits - 1 - digit), g)
        before, after = table.reshape(shape), np.zeros(shape, cells.dtype)
        for s, v in product(range(g), repeat=2):
            after[:, v] += before[:, s][..., field.add[:, field.multiply[s, v]]]
        table = after
    return np.ascontiguousarray(table.reshape(-1, g)[:, 0])


def transform_weights(weights: NDArray[np.float64], field: FiniteField, digits: int) -> NDArray[np.float64]:
    """Return for every s and y the sum of w[v] over the v with <s, v> = y: the transpose of the above."""
    g = field.size
    table = np.zeros((g**digits, g))
    table[:, 0] = weights
    for digit in range(digits):
        shape = (g**digit, g, g ** (digits - 1 - digit), g)
        before, after = table.reshape(shape), np.zeros(shape)
        for s, v in product(range(g), repeat=2):
            after[:, s, :, field.add[:, field.multiply[s, v]]] += np.moveaxis(before[:, v], -1, 0)
        table = after
    return table.reshape(-1, g)


def _multiply_polynomials(a: int, b: int) -> int:
    """Return the product of two polynomials over GF(2), as bits."""
    found = 0
    for place in range(b.bit_length()):
        if b >> place & 1:
            found ^= a << place
    return found


def _reduce_polynomial(a: int, modulus: int) -> int:
    while a.bit_length() >= modulus.bit_length():
        a ^= modulus << (a.bit_length() - modulus.bit_length())
    return a


def _find_irreducible_polynomial(size: int) -> int:
    """Return the first polynomial of the degree that no smaller one divides."""
    return next(
        candidate
        for candidate in range(size + 1, 2 * size)
        if all(
            _reduce_polynomial(candidate, each) for each in range(2, 1 << ((size.bit_length() - 1) // 2 + 1))
        )
    )
