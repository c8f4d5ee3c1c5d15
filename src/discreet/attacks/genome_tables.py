"""Allele frequencies and genotypes, read from an engine's tables with one row for each SNP.

Frequencies  the first column is the SNP's name, `frequency` (or the only other number) the allele's share,
             `people`, if there is such a column, the number of people it was counted in.
Genotypes    the first column is the SNP's name; every other column is a person: 0, 1 or 2 copies of the
             allele that the frequencies refer to.

Tables are joined by SNP name; SNPs that are missing from a table, or not genotyped in a person, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.allele_frequencies import Floats, Genotypes
from discreet.attacks.column_expressions import build_number_expression
from discreet.attacks.distinct_tuples import list_columns
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError

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
