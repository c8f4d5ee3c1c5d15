"""Tables that are about nobody: prepared like any other, linked by a declared key that counts once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.policy import Policy
from discreet.services.curator import Curator


def test_a_public_table_is_linked_and_a_doubled_key_counts_once(tmp_path: Path) -> None:
    visits = {"who": [f"p{i}" for i in range(300)], "clinic": [i % 3 for i in range(300)]}
    pq.write_table(pa.table(visits), tmp_path / "visits.parquet")
    clinics = pa.table({"id": [0, 1, 2, 2, 2], "größe": ["small", "large", "large", "small", "small"]})
    pq.write_table(clinics, tmp_path / "clinics.parquet")
    policy = Policy.model_validate(
        {
            "promise": {"prior": 0.01, "posterior": 0.999},
            "ledger": ":memory:",
            "tables": {
                "visits": {
                    "source": str(tmp_path / "visits.parquet"),
                    "person": "who",
                    "links": {"clinic": "clinics.id"},
                    "columns": {
                        "who": {"role": "identifier"},
                        "clinic": {"type": "integer", "low": 0, "high": 9},
                    },
                },
                "clinics": {
                    "source": str(tmp_path / "clinics.parquet"),
                    "person": "none",
                    "columns": {
                        "id": {"type": "integer", "low": 0, "high": 9},
                        "größe": {"type": "category", "values": ["small", "large"]},
                    },
                },
            },
        }
    )
    with Curator.open_policy(policy) as curator:
        question = "SELECT größe, COUNT(*) AS n FROM visits JOIN clinics ON clinic = id GROUP BY größe"
        counts = curator.ask(question, epsilon=10).table["n"].to_pylist()
    assert abs(sum(counts) - 300) < 12
