"""Optimized local hashing: the value is hashed into g buckets, and the bucket is randomized.

Report      A seed s, uniform among g**m, and a bucket: the client's own, <s, x>, with probability p, else any
            other, each with probability (1 - p) / (g - 1) [WBLJ17]. Values and seeds are vectors of m digits
            over the field of g elements, <s, x> their product. A report is the code g s + bucket.
Guarantee   gamma = p (g - 1) / (1 - p), exactly, as p is a multiple of 2**-64: the seed does not depend on x.
Estimate    A report supports the values that its seed hashes into its bucket. A linear family is exactly
            pairwise independent, so another value is supported with probability q = 1 / g, not about so. And
            it is small: an engine groups reports by seed and bucket, and all supports follow from these
            counts by a transform of m g**(m + 2) additions, where hashing every value for every client takes
            n k.
Hashes      Linear functions over a finite field of g elements, g prime or a power of 2, are exactly pairwise
            independent: if v and v' differ, then <s, v> = <s, v'> for exactly 1 / g of all s [CW79].
Utility     n MSE of a raw share is 4 exp(epsilon) / (exp(epsilon) - 1)**2 + f at best, near g = exp(epsilon)
            + 1, for any number of values, with reports of log2 k + 2 log2 g bits at most.

[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
[CW79]      Carter & Wegman, Universal Classes of Hash Functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.belief.breaches import Mask
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.numba_kernels import compile_kernel
from discreet.core.number_checks import Real
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.exact_sampling import (
    compute_odds_probability,
    fraction_to_threshold,
    require_codes,
    require_epsilon,
    require_values,
    round_field_to_threshold,
    sample_coins,
    sample_uniform,
)
from discreet.local.frequency_oracles import CodeFrequencyOracle
from discreet.local.report_formats import ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers

MAX_BUCKETS = 64
MAX_OUTPUTS = 1 << 24
Array = NDArray[np.generic]


@dataclass(frozen=True, kw_only=True)
class LocalHashing(CodeFrequencyOracle):
    """The client's own bucket, one of `buckets`, with probability `truth`.

    >>> LocalHashing.for_epsilon(1, values=128).buckets
    4
    """

    values: int
    buckets: int
    truth: Fraction

    def __post_init__(self) -> None:
        require_values(self, self.values)
        usable = isinstance(self.buckets, int) and self.buckets <= MAX_BUCKETS and is_field_size(self.buckets)
        require_parameter(
            usable, self, "buckets", self.buckets, f"a prime or a power of 2, at most {MAX_BUCKETS}"
        )
        few = self.outputs <= MAX_OUTPUTS
        require_parameter(
            few, self, "buckets", self.buckets, f"so few that there are at most {MAX_OUTPUTS:,} reports"
        )
        round_field_to_threshold(self, "truth")
        likelier = self.truth * self.buckets > 1
        require_parameter(likelier, self, "truth", float(self.truth), "above 1 / buckets")

    @classmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        require_values(cls.__name__, values)
        exact = require_epsilon(cls.__name__, epsilon)
        sizes = [g for g in range(2, MAX_BUCKETS + 1) if is_field_size(g)]
        fitting = [g for g in sizes if g ** (_count_digits(values, g) + 1) <= MAX_OUTPUTS]
        made = [cls(values=values, buckets=g, truth=compute_odds_probability(exact, g - 1)) for g in fitting]
        return min(made, key=lambda each: each.variance(0.0, 1))

    @property
    def digits(self) -> int:
        """The number m of digits of a value and of a seed."""
        return _count_digits(self.values, self.buckets)

    @property
    def seeds(self) -> int:
        """The number of hash functions."""
        return int(self.buckets**self.digits)

    @property
    def outputs(self) -> int:
        return self.seeds * self.buckets

    @property
    def p(self) -> float:
        return float(self.truth)

    @property
    def q(self) -> float:
        return 1 / self.buckets

    @property
    def gamma(self) -> float:
        lie = (1 - self.truth) / (self.buckets - 1)
        return float(self.truth / lie) if lie else math.inf

    @property
    def field(self) -> FiniteField:
        return make_finite_field(self.buckets)

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        codes, g = require_codes(self, x, self.values), self.buckets
        seeds = sample_uniform(self.seeds, codes.size, random)
        own = _hash_values(seeds, codes, self.field.add, self.field.multiply)
        truthful = sample_coins(fraction_to_threshold(self.truth), codes.size, random)
        other = (own + 1 + sample_uniform(g - 1, codes.size, random)) % g
        return seeds * g + np.where(truthful, own, other)

    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        seeds, asked = np.broadcast_arrays(outputs // self.buckets, values)
        field = self.field
        own = _hash_values(seeds.ravel(), asked.ravel(), field.add, field.multiply).reshape(seeds.shape)
        return np.asarray(own == outputs % self.buckets)

    def sum_supported_weights(self, weights: Floats) -> Floats:
        placed = np.zeros(self.seeds)
        placed[: self.values] = weights
        return transform_weights(placed, self.field, self.digits).reshape(-1)

    def count_supports(self, counts: ReportCounts) -> Integers:
        cells = counts.cells.reshape(-1, self.buckets)
        return transform_counts(cells, self.field, self.digits)[: self.values]


def _count_digits(values: int, size: int) -> int:
    """Return the fewest digits of base `size` in which all codes can be written."""
    digits = 1
    while size**digits < values:
        digits += 1
    return digits


@compile_kernel
def _hash_values(seeds: Integers, values: Integers, add: Integers, multiply: Integers) -> Integers:
    """Return <s, v> of each pair, digit by digit; the codes' last digits are the vectors' last entries."""
    g = add.shape[0]
    found = np.empty(seeds.size, np.int64)
    for i in range(seeds.size):
        s, v, total = seeds[i], values[i], 0
        while s > 0 and v > 0:
            total = add[total, multiply[s % g, v % g]]
            s, v = s // g, v // g
        found[i] = total
    return found


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
