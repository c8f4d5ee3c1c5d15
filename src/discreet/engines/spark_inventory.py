"""Inventory of Spark's catalog, and of any Parquet and CSV paths that it can read.

Names       `visits` in the current database, `clinic.visits` elsewhere, as in a policy's source; paths are
            not listed.
Columns     with the types that `spark` reads them as; lists, maps, structures and bytes have no kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.core.closing import Closing
from discreet.core.policy import Kind
from discreet.core.values import Exact
from discreet.engines import spark
from discreet.engines.dialects.checking import Statements
from discreet.engines.faults import guarded
from discreet.engines.inventory import LOOKED_AT, SECONDS, Held, meant
from discreet.engines.patterns import matching_by
from discreet.engines.schema import kind_of

TEXT = re.compile(r"string.*|(var)?char\(\d+\)")


class SparkInventory(Closing):
    """An `Inventory` of a session of its own."""

    engine = "Spark"

    def __init__(self, address: str) -> None:
        self._session = spark.started(address)

    def names(self) -> list[str]:
        return guarded(lambda: sorted(_listed(self._session)))

    def held(self, word: str) -> Held | None:
        reader = spark.reader_of(word)
        # Spark ignores case in names; a policy draft uses the catalog's own spelling
        name = word if reader else meant(word, self.names()) or word
        frame = guarded(lambda: spark.found(self._session, name, infer=True))
        if frame is None:
            return None
        columns = tuple((column, _kind(kind)) for column, kind in guarded(lambda: frame.dtypes))
        return Held(source=name, columns=columns, guessed=reader == "csv")

    def matching(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        origin = spark.origin(self._session, LOOKED_AT, source, list(columns))
        statements = Statements(dialect=spark.DIALECT, relations={LOOKED_AT: origin.relation})

        def count(sql: str) -> Exact[pa.Table]:
            text = statements(sql).text
            return guarded(lambda: Exact(spark.selected(self._session, text, SECONDS)))

        return matching_by(count, LOOKED_AT, columns, patterns)

    def close(self) -> None:
        """Do nothing: the application stays, as others may use it."""


def _listed(session: Any) -> Iterator[str]:
    current = session.catalog.currentDatabase()
    for (database,) in session.sql("SHOW DATABASES").collect():
        for row in session.sql(f"SHOW TABLES IN {spark.DIALECT.quoted(database)}").collect():
            if not row["isTemporary"]:
                yield row["tableName"] if database == current else f"{database}.{row['tableName']}"


def _kind(own: str) -> Kind | None:
    """Return the policy's kind for a Spark type, or None.

    >>> _kind("smallint"), _kind("decimal(9,2)"), _kind("array<int>")
    (<Kind.INTEGER: 'integer'>, <Kind.DECIMAL: 'decimal'>, None)
    """
    if TEXT.fullmatch(own):
        return Kind.TEXT
    if own in spark.TYPES:
        return kind_of(spark.TYPES[own][1])
    return kind_of(own.upper()) if own.startswith("decimal") else None
