"""RAPPOR: a Bloom filter of the value, randomized permanently and again for every report.

Report      A client belongs to one of some cohorts; its value sets `hashes` of the `width` bits of a Bloom
            filter, other ones in every cohort. Permanent: each bit is flipped with probability f / 2, once,
            and the result is kept. Instantaneous: for every report, each permanent bit is sent as 1 with
            probability q if it is 1 and p if it is 0 [EPK14]. A report is the cohort and the bits.
Guarantee   One report: a 1 is sent with probability q* = (1 - f / 2) q + (f / 2) p where the filter has a 1,
            p* = (1 - f / 2) p + (f / 2) q where it has a 0. Two values differ in at most `hashes` bits each
            way, so gamma is at most (q* (1 - p*) / (p* (1 - q*)))**hashes, with equality unless all filters
            overlap. Any number of reports of an unchanged value: ((1 - f / 2) / (f / 2))**(2 hashes), the
            `lasting_gamma`. Both bounds need both steps: permanent flips in both directions, and fresh ones.
Estimate    The share of each cohort's clients whose filter has a bit is estimated without bias, and shares of
            values are the least squares fit to them: unbiased given the cohorts. Intervals are normal.
Utility     For values that are reported repeatedly. For one report, other operators have a smaller error.

[EPK14]     Erlingsson, Pihur & Korolova, RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtri

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import require_count
from discreet.core.randomness import SYSTEM, Randomness
from discreet.core.simplex import project_to_simplex
from discreet.local.bit_sampling import sample_bits, unpack_bits
from discreet.local.estimates import FrequencyOracle, Intervals
from discreet.local.exact_sampling import (
    fraction_to_threshold,
    require_codes,
    require_values,
    round_field_to_threshold,
    sample_uniform,
)
from discreet.local.report_formats import BitFormat, ReportCounts, Reports
from discreet.mechanisms.sampling import Booleans, Floats, Integers, Words

MAX_VALUES, MAX_WIDTH, MAX_COHORTS = 1024, 4096, 1024
MAX_ENUMERABLE_BITS = 10
MIN_PIVOT_RATIO = 1e-6


@dataclass(frozen=True, kw_only=True)
class Rappor(FrequencyOracle):
    """`hashes` of `width` bits, flipped permanently with probability f / 2, sent as 1 with probability q, p.

    >>> round(Rappor(values=8).gamma, 2), round(Rappor(values=8).lasting_gamma, 2)
    (2.93, 81.0)
    """

    values: int
    width: int = 128
    hashes: int = 2
    cohorts: int = 8
    f: Fraction = Fraction(1, 2)
    p: Fraction = Fraction(1, 2)
    q: Fraction = Fraction(3, 4)

    def __post_init__(self) -> None:
        require_values(self, self.values, most=MAX_VALUES)
        require_count(self, "width", self.width, minimum=2)
        require_parameter(self.width <= MAX_WIDTH, self, "width", self.width, f"at most {MAX_WIDTH:,}")
        require_count(self, "hashes", self.hashes)
        require_parameter(
            self.hashes < self.width, self, "hashes", self.hashes, f"below the width, {self.width}"
        )
        require_count(self, "cohorts", self.cohorts)
        require_parameter(
            self.cohorts <= MAX_COHORTS, self, "cohorts", self.cohorts, f"at most {MAX_COHORTS:,}"
        )
        for name in ("f", "p", "q"):
            round_field_to_threshold(self, name)
        require_parameter(0 < self.f < 1, self, "f", float(self.f), "between 0 and 1")
        require_parameter(self.p < self.q, self, "q", float(self.q), f"above p, which is {float(self.p):g}")

    @property
    def flip_probability(self) -> Fraction:
        """The probability f / 2 that a permanent bit differs from the filter, a multiple of 2**-64."""
        return Fraction(max(1, fraction_to_threshold(self.f) // 2), 1 << 64)

    @property
    def send_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities q* and p* of sending 1 where the filter has a 1, and where it has a 0."""
        flip = self.flip_probability
        return (1 - flip) * self.q + flip * self.p, (1 - flip) * self.p + flip * self.q

    @property
    def gamma(self) -> float:
        return float(self._bit_likelihood_ratio**self.hashes)

    @property
    def _bit_likelihood_ratio(self) -> Fraction:
        one, zero = self.send_probabilities
        return one * (1 - zero) / (zero * (1 - one))

    @property
    def lasting_gamma(self) -> float:
        """The amplification of all reports that a client ever sends of one value."""
        return float(((1 - self.flip_probability) / self.flip_probability) ** (2 * self.hashes))

    @property
    def outputs(self) -> int | None:
        return self.cohorts << self.width if self.width <= MAX_ENUMERABLE_BITS else None

    @property
    def report_format(self) -> BitFormat:
        return BitFormat(width=self.width, cohorts=self.cohorts)

    @cached_property
    def bloom_filters(self) -> Words:
        """The Bloom filter of every value in every cohort, packed: cohorts, values, words."""
        words = self.report_format.word_count
        each = [
            [_pack_words(self._hash_bits(cohort, value), words) for value in range(self.values)]
            for cohort in range(self.cohorts)
        ]
        return np.array(each, np.uint64)

    def _hash_bits(self, cohort: int, value: int) -> set[int]:
        """Return distinct bits, by a public hash of cohort and value."""
        found: set[int] = set()
        turn = 0
        while len(found) < self.hashes:
            digest = hashlib.blake2b(f"{cohort}/{value}/{turn}".encode(), digest_size=8).digest()
            found.add(int.from_bytes(digest, "little") % self.width)
            turn += 1
        return found

    @refuse_wrong_types
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        """Return the first report of each client, from a cohort drawn for it."""
        codes = require_codes(self, x, self.values)
        return self.draw_reports(self.draw_permanent_bits(codes, random), random)

    def draw_permanent_bits(self, x: Integers, random: Randomness) -> Words:
        """Draw the cohort and permanent bits of each client, to be reused while its value stays the same."""
        codes = require_codes(self, x, self.values)
        cohort = sample_uniform(self.cohorts, codes.size, random)
        kept = self.bloom_filters[cohort, codes] ^ sample_bits(
            fraction_to_threshold(self.flip_probability), codes.size, self.width, random
        )
        return np.column_stack([cohort.astype(np.uint64)] * self.report_format.has_cohorts + [kept])

    def draw_reports(self, permanent: Words, random: Randomness) -> Reports:
        """Draw one more report of each client, from its permanent bits."""
        cohort, kept = self.report_format.split_reports(permanent)
        high, low = (
            sample_bits(fraction_to_threshold(each), len(kept), self.width, random)
            for each in (self.q, self.p)
        )
        sent = (kept & high) | (~kept & low)
        return np.column_stack([cohort.astype(np.uint64)] * self.report_format.has_cohorts + [sent])

    def likelihood(self, report: Reports) -> Floats:
        cohort, words = self.report_format.split_reports(np.atleast_2d(report))
        shared = np.bitwise_count(self.bloom_filters[int(cohort[0])] & words[0]).sum(axis=1)
        return np.asarray(float(self._bit_likelihood_ratio) ** (shared.astype(np.float64) - self.hashes))

    def compute_matrix(self) -> Floats:
        one, zero = (float(each) for each in self.send_probabilities)
        seen = unpack_bits(np.arange(1 << self.width, dtype=np.uint64)[:, None], self.width).astype(
            np.float64
        )
        found = []
        for cohort in range(self.cohorts):
            chance = np.where(self._cohort_filters(cohort), one, zero)
            found.append(np.exp(np.log(chance) @ seen.T + np.log1p(-chance) @ (1 - seen.T)) / self.cohorts)
        return np.concatenate(found, axis=1)

    def _cohort_filters(self, cohort: int) -> Booleans:
        return unpack_bits(self.bloom_filters[cohort], self.width)

    def estimate_raw_shares(self, counts: ReportCounts) -> Floats:
        one, zero = (float(each) for each in self.send_probabilities)
        right = np.zeros(self.values)
        for cohort, (clients, *sums) in enumerate(counts.cells):
            right += self._cohort_filters(cohort) @ ((np.array(sums) - zero * clients) / (one - zero))
        return np.asarray(cho_solve(self._factor_gram_matrix(counts.cells[:, 0]), right))

    def fit_shares(self, counts: ReportCounts) -> Floats:
        return project_to_simplex(self.estimate_raw_shares(counts))

    def intervals(self, counts: ReportCounts, confidence: float) -> Intervals:
        raw = self.estimate_raw_shares(counts)
        variances = self._compute_variances(counts.cells[:, 0], self.fit_shares(counts), np.eye(self.values))
        reach = -float(ndtri((1 - confidence) / 2)) * np.sqrt(variances)
        return Intervals(raw - reach, raw + reach)

    def estimate_sum_variance(self, counts: ReportCounts, weights: Floats) -> float:
        shares = self.fit_shares(counts)
        return float(self._compute_variances(counts.cells[:, 0], shares, weights[:, None])[0])

    @refuse_wrong_types
    def variance(self, share: float, clients: int) -> float:
        """Return the variance of the first value's raw share, with cohorts of equal size."""
        require_count(self, "clients", clients)
        shares = np.full(self.values, (1 - share) / (self.values - 1))
        shares[0] = share
        sizes = np.full(self.cohorts, clients / self.cohorts)
        return float(self._compute_variances(sizes, shares, np.eye(self.values, 1))[0])

    def _factor_gram_matrix(self, clients: Integers | Floats) -> tuple[Floats, bool]:
        """Return the Cholesky factor of the least-squares problem's matrix."""
        gram = np.zeros((self.values, self.values))
        for cohort, size in enumerate(clients):
            held = self._cohort_filters(cohort).astype(np.float64)
            gram += size * (held @ held.T)
        try:
            factor, lower = cho_factor(gram)
        except LinAlgError:
            factor, lower = np.zeros_like(gram), False
        pivots = np.abs(np.diag(factor))
        if pivots.min() <= MIN_PIVOT_RATIO * pivots.max():
            raise InvalidParameterError(
                "Rappor cannot distinguish all values: some filters are sums of others.",
                hint="Use more bits or more cohorts, or estimate when more clients have reported.",
            )
        return factor, bool(lower)

    def _compute_variances(self, clients: Integers | Floats, shares: Floats, weights: Floats) -> Floats:
        """Return the variances of the weighted sums of raw shares, one for each column of the weights.

        Given the values, bits are independent coins; their covariance comes from the values of the clients
        of a cohort.
        """
        one, zero = (float(each) for each in self.send_probabilities)
        solved = cho_solve(self._factor_gram_matrix(clients), weights)
        found = np.zeros(weights.shape[1])
        for cohort, size in enumerate(clients):
            held = self._cohort_filters(cohort).astype(np.float64)
            worth = held.T @ solved
            coins = shares @ (held * one * (1 - one) + (1 - held) * zero * (1 - zero)) / (one - zero) ** 2
            each = held @ worth
            found += size * (coins @ worth**2 + shares @ each**2 - (shares @ each) ** 2)
        return found


def _pack_words(places: set[int], words: int) -> list[int]:
    whole = sum(1 << place for place in places)
    return [whole >> (64 * j) & ((1 << 64) - 1) for j in range(words)]
