"""Allele frequencies of a study, and the expected power of membership inference from them.

A study of n people publishes, for each of M SNPs, the share of an allele among its 2 n chromosomes. Each
member's genome moved every share a little towards itself; a reference of m people estimates the shares
without them. A share deviates from the reference's with a variance of p (1 - p) (1 / 2n + 1 / 2m) from
sampling, plus that of the noise, if any; a member adds p (1 - p) / n to the mean of its product with their
own deviation. Over independent SNPs the best sum of such products puts members
sqrt(sum p (1 - p) / V / 2) / n standard deviations above the others, V the whole variance; without noise that
is sqrt(M / (n (1 + n / m))).

They are read from an engine's tables with one row for each SNP:

Frequencies  the first column is the SNP's name, `frequency` (or the only other number) the allele's share,
             `people`, if there is such a column, the number of people it was counted in.
Genotypes    the first column is the SNP's name; every other column is a person: 0, 1 or 2 copies of the
             allele that the frequencies refer to.

Tables are joined by SNP name; SNPs that are missing from a table, or not genotyped in a person, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.engine_tables import build_number_expression, list_columns
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError, require_parameter
from discreet.core.number_checks import Real, require_count, require_nonnegative, require_probability

Floats = NDArray[np.float64]
Genotypes = NDArray[np.int8]
BLOCK = 4_096  # SNPs that are multiplied together in single precision
PEOPLE_BLOCK = 50  # people drawn together


@dataclass(frozen=True, kw_only=True, eq=False)
class Frequencies:
    """The share of each SNP's allele among `people`, or the exact shares if `people` is None.

    `noise` is the variance that was added to each allele count; `epsilon` is the resulting privacy loss of a
    person, over all SNPs.
    """

    share: Floats
    people: int | None = None
    noise: float = 0.0
    epsilon: Real | None = None

    def __post_init__(self) -> None:
        share = np.asarray(self.share, np.float64)
        object.__setattr__(self, "share", share)
        if self.people is not None:
            require_count(self, "people", self.people)
        require_nonnegative(self, "noise", self.noise)
        holds = share.ndim == 1 and share.size > 0 and bool(np.isfinite(share).all())
        require_parameter(
            holds, self, "share", f"an array of {share.shape}", "one column of numbers, one for each SNP"
        )
        if not self.noise:
            require_parameter(
                share.min() >= 0 and share.max() <= 1, self, "share", "others", "shares between 0 and 1"
            )

    @property
    def clipped_shares(self) -> Floats:
        """Shares clipped to half an allele from 0 and 1, so that logarithms exist."""
        edge = 1 / (4 * self.people) if self.people else 1e-9
        return np.clip(self.share, edge, 1 - edge)


class StatisticWeights(NamedTuple):
    """A statistic as a sum over SNPs: `per_copy` for each copy of the allele, plus `both_copies` for two."""

    per_copy: Floats
    both_copies: Floats | None


def estimate_shares(published: Frequencies, reference: Frequencies) -> Floats:
    """Return the posterior mean of the study's shares, given the noise in the published ones."""
    middle = reference.clipped_shares
    if not published.noise:
        return published.clipped_shares
    sampled, added = _share_variances(published, reference)
    drawn_back = middle + (published.share - middle) * sampled / (sampled + added)
    edge = 1 / (4 * (published.people or 1))
    return np.asarray(np.clip(drawn_back, edge, 1 - edge))


def compute_expected_shift(published: Frequencies, reference: Frequencies, snps: int | None = None) -> float:
    """Return by how many standard deviations members exceed the others, for independent SNPs.

    >>> study, exact = (Frequencies(share=np.full(8_100, 0.5), people=n) for n in (100, None))
    >>> compute_expected_shift(study, exact)
    9.0
    """
    sampled, added = _share_variances(published, reference)
    middle = reference.clipped_shares
    told = (middle * (1 - middle) / (sampled + added))[:snps].sum()
    return math.sqrt(told / 2) / (published.people or 1)


def compute_expected_power(shift: float, false_positives: float) -> float:
    """Return the share of members above the quantile that `false_positives` of the others exceed."""
    return float(scipy.special.ndtr(shift - compute_upper_normal_quantile(false_positives)))


def compute_max_power(epsilon: Real, false_positives: float) -> float:
    """Return the highest power of any attack on a release with this epsilon, whatever else is known.

    >>> compute_max_power(0, 0.05), round(compute_max_power(1, 0.05), 4)
    (0.05, 0.1359)
    """
    require_nonnegative("compute_max_power", "epsilon", epsilon)
    require_probability("compute_max_power", "false_positives", false_positives)
    kept = math.exp(-epsilon)
    return min(1.0 if kept == 0 else false_positives / kept, 1 - (1 - false_positives) * kept)


def sum_statistics(genotypes: Genotypes, weights: StatisticWeights, snp_counts: list[int]) -> Floats:
    """Return each person's statistic over the first SNPs, for each number of SNPs."""
    sums = np.empty((len(genotypes), len(snp_counts)))
    running, begin = np.zeros(len(genotypes)), 0
    for place, mark in enumerate(snp_counts):
        for start in range(begin, mark, BLOCK):
            part = slice(start, min(start + BLOCK, mark))
            running += _sum_snp_block(genotypes[:, part], weights, part)
        sums[:, place], begin = running, mark
    return sums


def _sum_snp_block(genotypes: Genotypes, weights: StatisticWeights, part: slice) -> Floats:
    single = genotypes.astype(np.float32) @ weights.per_copy[part].astype(np.float32)
    if weights.both_copies is not None:
        single += (genotypes == 2).astype(np.float32) @ weights.both_copies[part].astype(np.float32)
    return single.astype(np.float64)


def compute_expected_statistic(weights: StatisticWeights, shares: Floats) -> float:
    """Return the expected statistic of a person whose alleles are drawn by these shares."""
    both = 0.0 if weights.both_copies is None else float(weights.both_copies @ shares**2)
    return float(weights.per_copy @ (2 * shares)) + both


def _share_variances(published: Frequencies, reference: Frequencies) -> tuple[Floats, Floats]:
    """Return the variances of a published share around the reference's: from sampling, and from noise."""
    people, middle = published.people or 1, reference.clipped_shares
    halves = 1 / (2 * people) + (1 / (2 * reference.people) if reference.people else 0.0)
    sampled = middle * (1 - middle) * halves
    return sampled, np.full(middle.size, published.noise / (2 * people) ** 2)


def compute_upper_normal_quantile(rate: float) -> float:
    """Return the value that a standard normal variable exceeds with probability `rate`."""
    return -float(scipy.special.ndtri(rate))


FREQUENCY, PEOPLE = "frequency", "people"


@dataclass(frozen=True, kw_only=True, eq=False)
class AlleleShares:
    """The shares of named SNPs, and the number of people behind them if the table gives it."""

    table: str
    snps: pa.Array
    share: Floats
    people: int | None

    def select_snps(self, snps: pa.Array) -> Floats:
        """Return the shares of some SNPs."""
        return np.asarray(self.share[_find_positions(snps, self.snps)])


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedGenomes:
    """Named people and their allele copies, with a row for each SNP."""

    table: str
    snps: pa.Array
    names: tuple[str, ...]
    copies: Genotypes

    def select_snps(self, snps: pa.Array) -> Genotypes:
        """Return the copies of some SNPs, with a row for each person."""
        return np.ascontiguousarray(self.copies[_find_positions(snps, self.snps)].T)

    def select_person(self, name: str) -> NamedGenomes:
        """Return the genome of one person."""
        if name not in self.names:
            raise RequestError(
                f"attack: {self.table} has no column {name}, so no person of that name.",
                hint="Name one of its people.",
            )
        at = self.names.index(name)
        return NamedGenomes(
            table=self.table, snps=self.snps, names=(name,), copies=self.copies[:, at : at + 1]
        )


def read_shares(engine: Publisher, table: str, numbers: Sequence[str]) -> AlleleShares:
    """Read frequencies; `numbers` are the numeric columns of the table."""
    snp, *others = list_columns(engine, table)
    shares = [name for name in others if name in numbers and name != PEOPLE]
    if FREQUENCY not in others and len(shares) != 1:
        raise RequestError(
            f"attack: {table} has no column {FREQUENCY}, and not exactly one other numeric column.",
            hint=f"Give a row for each SNP: its name first, then a column {FREQUENCY}.",
        )
    wanted = [FREQUENCY if FREQUENCY in others else shares[0], *(name for name in others if name == PEOPLE)]
    found = _read_complete_rows(engine, table, snp, wanted)
    people = found.column(2).to_numpy() if len(wanted) > 1 else np.zeros(0)
    return AlleleShares(
        table=table,
        snps=_read_snp_names(found, table),
        share=np.asarray(found.column(1).to_numpy(), np.float64),
        people=round(float(np.median(people))) if people.size else None,
    )


def read_genomes(engine: Publisher, table: str) -> NamedGenomes:
    """Read genotypes, leaving out SNPs that are not genotyped in every person."""
    snp, *names = list_columns(engine, table)
    if not names:
        raise RequestError(
            f"attack: {table} has no people.",
            hint="Give a row for each SNP: its name first, then a column for each person, with 0, 1 or 2.",
        )
    found = _read_complete_rows(engine, table, snp, names)
    snps = _read_snp_names(found, table)
    copies = np.empty((found.num_rows, len(names)), np.int8)
    for place in range(len(names)):
        column = found.column(place + 1).to_numpy()
        if not np.isin(column, (0, 1, 2)).all():
            raise DataError(
                f"attack: column {names[place]} of {table} has values other than 0, 1 and 2.",
                hint="A genotype is how many copies of the allele a person has.",
            )
        copies[:, place] = column
    return NamedGenomes(table=table, snps=snps, names=tuple(names), copies=copies)


def find_shared_snps(first: AlleleShares, *others: AlleleShares | NamedGenomes) -> pa.Array:
    """Return the SNPs that all tables have, sorted by name, because engine rows have no order."""
    snps = first.snps.take(pc.sort_indices(first.snps))
    for other in others:
        snps = snps.filter(pc.is_in(snps, value_set=other.snps))
        if not len(snps):
            raise RequestError(
                f"attack: {other.table} has no SNP of {first.table}.",
                hint="The first column of each names its SNPs; write them alike.",
            )
    return snps


def _read_complete_rows(engine: Publisher, table: str, snp: str, columns: Sequence[str]) -> pa.Table:
    """Return the complete rows: those with a number in every column."""
    kinds = engine.column_types(table)
    numbers = [
        build_number_expression(name, kinds[name]).as_(f"c{place}") for place, name in enumerate(columns)
    ]
    select = exp.select(exp.cast(exp.column(snp, quoted=True), "text").as_("snp"), *numbers)
    found = engine.count(select.from_(exp.to_identifier(table, quoted=True)).sql(dialect="duckdb")).secret
    whole = found.drop_null()
    if not whole.num_rows:
        raise DataError(
            f"attack: {table} has no SNP with a number in every column.",
            hint="Give a row for each SNP: its name first, numbers after it.",
        )
    return whole


def _read_snp_names(found: pa.Table, table: str) -> pa.Array:
    """Return the SNP names; raise DataError if one occurs twice."""
    names = found.column("snp").combine_chunks()
    if len(names.unique()) != len(names):
        raise DataError(f"attack: {table} has two rows for one SNP.", hint="Give one row for each.")
    return names


def _find_positions(wanted: pa.Array, names: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.index_in(wanted, value_set=names).to_numpy(zero_copy_only=False), np.int64)


def draw_genotypes(people: int, share: Floats, generator: np.random.Generator) -> Genotypes:
    """Return people's copies of each allele: two with its squared share, none with that of the other."""
    two, some = (share**2).astype(np.float32), (1 - (1 - share) ** 2).astype(np.float32)
    copies = np.empty((people, share.size), np.int8)
    for start in range(0, people, PEOPLE_BLOCK):
        rows = copies[start : start + PEOPLE_BLOCK]
        chance = generator.random(rows.shape, np.float32)
        np.add(chance < two, chance < some, out=rows, dtype=np.int8)
    return copies
