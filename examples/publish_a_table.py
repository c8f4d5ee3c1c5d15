"""Publish a table: the best generalization that meets two models, attacked before it is written.

python examples/publish_a_table.py
"""

from __future__ import annotations

import json
from pathlib import Path

from discreet import Anonymizer
from discreet.anonymity.models import EntropyDiversity, KAnonymity
from discreet.services import sample


def main() -> None:
    sample.write_samples(Path("sample"))  # 20,000 made-up patients
    policy = sample.write_policy(Path("sample"))
    models = [KAnonymity(k=5), EntropyDiversity(column="disease", l=2)]
    release = Anonymizer(policy, models=models, suppress="2%").fit("hospital").release

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
