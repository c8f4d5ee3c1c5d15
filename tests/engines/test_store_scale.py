"""Ten million visits: prepared and asked within two gibibytes, and bounding leaves each person its share."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.engines.stores import policy_of

ROWS, PEOPLE, CITIES = 10_000_000, 1_000_000, 1_000
COLUMNS = {
    "user_id": {"type": "integer", "role": "identifier"},
    "city": {"type": "category", "values": [f"city{number:04}" for number in range(CITIES)]},
    "age": {"type": "integer", "low": 18, "high": 90},
    "spend": {"type": "decimal", "low": 0, "high": 200, "resolution": "0.01"},
}
SCRIPT = """
import json, resource, sys
from pathlib import Path
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
store = prepare_store(Policy.model_validate_json(sys.argv[1]), Path(sys.argv[2]))
with DuckDB.open(store) as engine:
    counted = engine.count(
        "SELECT sum(n)::BIGINT AS kept, sum(s)::BIGINT AS spent, count(*) AS cities FROM ("
        "SELECT city, count(*) AS n, sum(spend) AS s FROM visits WHERE _discreet_rank <= 5 GROUP BY city)"
    ).secret.to_pylist()[0]
kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({**counted, "gibibytes": kibibytes / 2**20}))
"""


@pytest.mark.night
def test_ten_million_rows_are_prepared_and_asked_within_two_gibibytes(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT hash(i) % {PEOPLE} AS user_id,
            format('city{{:04d}}', hash(i, 1) % {CITIES}) AS city,
            18 + hash(i, 2) % 73 AS age, (hash(i, 3) % 20001) / 100 AS spend
            FROM range({ROWS}) AS r (i))
            TO '{path}'"""
        )
        row = connection.execute(
            f"SELECT sum(least(n, 5))::BIGINT FROM (SELECT count(*) AS n FROM '{path}' GROUP BY user_id)"
        ).fetchone()
    policy = policy_of(path, COLUMNS, person="user_id", name="visits")
    arguments = [
        sys.executable,
        "-c",
        SCRIPT,
        json.dumps(policy.model_dump(mode="json")),
        str(tmp_path / "store"),
    ]
    found = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    assert row is not None
    assert found["kept"] == row[0]
    assert found["cities"] == CITIES
    assert 0 < found["spent"] <= found["kept"] * 20_000
    assert found["gibibytes"] < 2
