"""Publish a table: the best generalization that meets two models, attacked before it is written.

python examples/publish_a_table.py
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from discreet import anonymize, write_sample_data
from discreet.models import EntropyDiversity


def main() -> None:
    policy = write_sample_data("sample")  # 20,000 made-up patients
    models = [EntropyDiversity(column="disease", l=Fraction(2))]
    release = anonymize(policy, "hospital", k=5, models=models, suppress="2%")

    for place, name in enumerate(release.source.quasi):
        print(f"{name:8} {release.describe_level(place)}")
    print(f"{len(release.classes.sizes):,} classes; {release.suppressed_count:,} people are left out.\n")
    for written in release.write("release.csv", at_most=0.9):  # nothing, if an attack came to believe more
        print(f"wrote {written}")
    print(*Path("release.csv").read_text().splitlines()[:4], sep="\n")
    certificate = json.loads(Path("release.certificate.json").read_text())
    for promised in certificate["models"]:
        print(f"{promised['name']}: {promised['belief']}")


if __name__ == "__main__":
    main()
