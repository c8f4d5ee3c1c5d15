"""Releases and registers as they are printed, and what an attacker makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.attacks.attacker_knowledge import AttackerKnowledge, Register, read_register
from discreet.attacks.class_matching import match_people
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.published_table import PublishedTable, read_release
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.papers.lecture_tables import parse_printed_table as table

__all__ = ["against", "engine", "known_of", "release_of", "table"]


@contextmanager
def engine(**tables: pa.Table) -> Iterator[DuckDBPublisher]:
    with DuckDBPublisher({}, tables) as opened:
        yield opened


def release_of(
    release: pa.Table,
    sensitive: Sequence[str] = ("disease",),
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> PublishedTable:
    quasi = [name for name in release.column_names if name not in sensitive]
    with engine(release=release) as opened:
        return read_release(
            opened, "release", quasi=quasi, sensitive=sensitive, hierarchies=hierarchies or {}
        )


def known_of(
    register: pa.Table,
    published: PublishedTable,
    *others: str,
    truth: Sequence[str] = (),
    victim: Mapping[str, str] | None = None,
) -> AttackerKnowledge:
    with engine(register=register) as opened:
        asked = Register(table="register", truth=tuple(truth), victim=victim)
        return read_register(opened, asked, published, *others)


def against(
    release: pa.Table,
    register: pa.Table,
    sensitive: Sequence[str] = ("disease",),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    truth: Sequence[str] = (),
    victim: Mapping[str, str] | None = None,
) -> MatchSets:
    """A register's people in a release."""
    published = release_of(release, sensitive, hierarchies)
    return match_people(published, known_of(register, published, truth=truth, victim=victim))
