"""Move to PostgreSQL or Spark: the same policy and the same question, where the rows are.

    python examples/move_to_another_engine.py postgresql://reader@db.example/clinic clinic.census
    python examples/move_to_another_engine.py 'spark:local[2]' /data/census.parquet

The second word is where the engine finds the table `census` of the samples.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from discreet import ask, write_sample_data

QUESTION = "SELECT sex, COUNT(*) AS people FROM census GROUP BY sex ORDER BY sex"


def moved(address: str, source: str) -> Path:
    """The samples' policy with two entries changed: which engine, and what it calls the table."""
    policy = yaml.safe_load(write_sample_data("sample").read_text())
    policy["engine"] = address
    policy["tables"] = {"census": policy["tables"]["census"] | {"source": source}}
    path = Path("moved.yaml")
    path.write_text(yaml.safe_dump(policy))
    return path


def main(address: str, source: str) -> None:
    answer = ask(moved(address, source), QUESTION, epsilon=0.2)
    print(answer.to_pandas().to_string(index=False))
    print(answer.sentence)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/move_to_another_engine.py ADDRESS SOURCE")
    main(sys.argv[1], sys.argv[2])
