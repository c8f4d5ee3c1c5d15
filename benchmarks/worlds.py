"""Made-up people for `discreet attack` to be tried on: the same ones every time, as all draws are seeded.

    python benchmarks/worlds.py films films/       50,000 people, 2,000 titles; what is heard of 500 people
    python benchmarks/worlds.py genomes genomes/   frequencies of a study of 1,000 people over 10,000 SNPs
    python benchmarks/worlds.py census census/     5,000 people, a copy with a little noise, and a panel

What they are like stands in `benchmarks.simulation`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.simulation.census_records import Census, make_leaky_copy
from benchmarks.simulation.genome_study import Study
from benchmarks.simulation.rental_ratings import RentalService, sample_known_ratings
from discreet.attacks.allele_frequencies import Frequencies, Genotypes
from discreet.attacks.ratings import NOBODY, Integers, Ratings

OPENED = (date(1999, 11, 11) - date(1970, 1, 1)).days
VICTIMS = 250


def films(folder: Path, service: RentalService | None = None, victims: int = VICTIMS) -> None:
    """`ratings.parquet`, and `known.csv` with eight ratings of people in it and of others; two are wrong."""
    released, strangers = (service or RentalService()).simulate_ratings()
    pq.write_table(_rated(released), folder / "ratings.parquet", compression="zstd")
    told = sample_known_ratings(released, strangers, victims=victims, known=8, wrong=2, days=14)
    assert told.truth is not None
    truth = told.truth[told.victim]
    known = {
        "name": [f"person {who + 1}" for who in told.victim],
        "title": _titles(told.title),
        "rating": told.stars,
        "date": _dates(told.day),
        "customer": ["" if who == NOBODY else f"c{who}" for who in truth],
    }
    pacsv.write_csv(pa.table(known), folder / "known.csv")


def genomes(folder: Path, study: Study | None = None) -> None:
    """`frequencies.csv` and `reference.csv`, `people.parquet` of the study and `panel.parquet` of others."""
    made = (study or Study()).sequence()
    _write_shares(made.publish(), folder / "frequencies.csv")
    _write_shares(made.reference, folder / "reference.csv")
    outside = np.concatenate([made.candidates[~made.is_member], made.panel])
    for name, copies in (("people", made.candidates[made.is_member]), ("panel", outside)):
        pq.write_table(_genotyped(copies, name), folder / f"{name}.parquet", compression="zstd")


def census(folder: Path, people: int = 5_000) -> None:
    """`people.csv`, `panel.csv` of others, `copied.csv` gives people away, `honest.csv` does not."""
    data, panel, others = (Census(people=people, seed=seed).sample() for seed in (1, 2, 3))
    tables = {"people": data, "panel": panel, "copied": make_leaky_copy(data), "honest": others}
    for name, table in tables.items():
        pacsv.write_csv(table, folder / f"{name}.csv")


def _rated(ratings: Ratings) -> pa.Table:
    customers = pa.array([f"c{who}" for who in range(ratings.people)])
    return pa.table(
        {
            "customer": customers.take(pa.array(ratings.person)),
            "title": _titles(ratings.title),
            "rating": ratings.stars.astype(np.int8),
            "date": _dates(ratings.day),
        }
    )


def _titles(title: Integers) -> pa.Array:
    names = pa.array([f"film {place}" for place in range(int(title.max()) + 1)])
    return names.take(pa.array(title))


def _dates(day: Integers) -> pa.Array:
    return pa.array((day + OPENED).astype(np.int32)).cast(pa.date32())


def _write_shares(frequencies: Frequencies, path: Path) -> None:
    columns = {"snp": _snps(frequencies.share.size), "frequency": frequencies.share}
    if frequencies.people is not None:
        columns["people"] = np.full(frequencies.share.size, frequencies.people)
    pacsv.write_csv(pa.table(columns), path)


def _genotyped(copies: Genotypes, name: str) -> pa.Table:
    columns = {f"{name} {who + 1}": copies[who] for who in range(len(copies))}
    return pa.table({"snp": _snps(copies.shape[1]), **columns})


def _snps(number: int) -> list[str]:
    return [f"rs{place + 1}" for place in range(number)]


WORLDS: dict[str, Callable[[Path], None]] = {"films": films, "genomes": genomes, "census": census}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in WORLDS:
        sys.exit(f"usage: python benchmarks/worlds.py {'|'.join(WORLDS)} FOLDER")
    made = Path(sys.argv[2])
    made.mkdir(parents=True, exist_ok=True)
    WORLDS[sys.argv[1]](made)
