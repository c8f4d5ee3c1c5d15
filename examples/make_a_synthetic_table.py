"""Make a synthetic table: made-up people whose counts are like those of the real ones, under the promise.

python examples/make_a_synthetic_table.py
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq

from discreet import synthesize, write_sample_data

COLUMNS = ("sex", "marital_status", "income")


def main() -> None:
    policy = write_sample_data("sample")
    made = synthesize(policy, "census", epsilon=0.5, columns=COLUMNS)
    print(made.table.slice(0, 5).to_pandas().to_string(index=False))
    print(f"\n{made.table.num_rows:,} rows for epsilon {made.epsilon}. {made.sentence}\n")

    real = pq.read_table("sample/census.parquet")
    print("Which pairs there are, for the custodian's eyes:")
    print(f"{'':32}{'real':>8}{'made up':>8}")
    there, here = (_pairs(table) for table in (real, made.table))
    for pair, count in there.most_common():
        print(f"{', '.join(pair):32}{count:>8,}{here[pair]:>8,}")
    pq.write_table(made.table, "synthetic.parquet")
    print("wrote synthetic.parquet")


def _pairs(table: pa.Table) -> Counter[tuple[str, str]]:
    return Counter((row["sex"], row["income"]) for row in table.select(["sex", "income"]).to_pylist())


if __name__ == "__main__":
    main()
