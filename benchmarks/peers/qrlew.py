"""Qrlew: rewrites SQL into SQL, which DuckDB then runs; Gaussian noise inside the statement."""

from __future__ import annotations

import duckdb
import sqlalchemy as sa
from pyqrlew import Dataset, Dialect

from benchmarks.peers import task

QUESTION = "SELECT city, COUNT(*) AS n, SUM(spend) AS s, AVG(spend) AS a FROM visits GROUP BY city"


def speed(visits: str) -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE visits AS SELECT user_id, city, age, spend::DOUBLE AS spend FROM read_parquet(?)",
        [visits],
    )
    found = connection.execute("SELECT count(*) FROM visits").fetchone()
    described = _described(found[0] if found else 0)

    def ask() -> object:
        rewritten = described.relation(QUESTION).rewrite_with_differential_privacy(
            described,
            [("visits", [], "user_id")],
            {"epsilon": 1.0, "delta": task.LEAK},
            max_multiplicity=float(task.MOST_ROWS),
            max_multiplicity_share=1.0,
            max_privacy_unit_groups=task.MOST_CITIES,
        )
        return connection.execute(rewritten.relation().to_query(Dialect.PostgreSql)).fetchall()

    task.timed(ask)


def _described(rows: int) -> Dataset:
    """What it must know of the table: it reads that from a database, so here is one with as many rows."""
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    numbers = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < :rows)"
    with engine.begin() as made:
        made.execute(sa.text("CREATE TABLE visits (user_id integer, city text, age integer, spend float)"))
        made.execute(sa.text(f"INSERT INTO visits {numbers} SELECT i, '', 0, 0.0 FROM r"), {"rows": rows})
    described = Dataset.from_database("visits", engine)
    return (
        described.with_possible_values(None, "visits", "city", task.CITIES)
        .with_range(None, "visits", "spend", *task.SPEND)
        .with_range(None, "visits", "user_id", 0, rows)
    )


if __name__ == "__main__":
    task.main(speed=speed)
