"""A table of made-up patients, of whom a few values single out each, and a policy to publish it by."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PEOPLE = 240
DISEASES = ("Flu", "Gout", "Asthma", "Ulcer")
POLICY = """
promise: {{prior: {prior}, posterior: {posterior}}}
epsilon: 0.1
true_values: {true_values}
tables:
  patients:
    source: patients.parquet
    person: id
    columns:
      id: {{type: integer, role: identifier}}
      age: {{type: integer, low: 20, high: 79, role: quasi, nulls: false}}
      sex: {{type: category, values: [f, m], role: quasi, nulls: false}}
      zipcode: {{type: category, values: ["13053", "13068", "14850"], role: quasi, nulls: false}}
      disease: {{type: category, values: [{diseases}], role: sensitive, nulls: false}}
      stays: {{type: integer, low: 0, high: 9, role: other, nulls: false}}
hierarchies:
  age: {{widths: [10, 20, 60]}}
  zipcode: {{mask: right}}
  decades: {{widths: [10, 60]}}
analysts:
  alice: {{share: 100%}}
"""


def patients() -> pa.Table:
    """The rows: a quarter have each disease; 67 is alone with what is known, 8 and 188 share it."""
    people = range(PEOPLE)
    return pa.table(
        {
            "id": people,
            "age": [20 + i % 60 for i in people],
            "sex": ["f" if i % 2 else "m" for i in people],
            "zipcode": [("13053", "13068", "14850")[i // 60 % 3] for i in people],
            "disease": [DISEASES[(i + i // 60) % 4] for i in people],
            "stays": [i % 10 for i in people],
        }
    )


def write(folder: Path, *, prior: str = "1%", posterior: str = "5%", true_values: str = "custodian") -> Path:
    """The table and its policy, in a folder."""
    pq.write_table(patients(), folder / "patients.parquet")
    path = folder / "privacy.yaml"
    diseases = ", ".join(DISEASES)
    path.write_text(
        POLICY.format(prior=prior, posterior=posterior, true_values=true_values, diseases=diseases)
    )
    return path
