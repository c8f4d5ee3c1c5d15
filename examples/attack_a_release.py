"""Attack a release: a 4-anonymous table of the literature, and a neighbour who knows Bob's age and zip code.

python examples/attack_a_release.py
"""

from __future__ import annotations

from pathlib import Path

from discreet import attack

HOSPITAL = """zip,age,nationality,disease
130**,< 30,*,Heart Disease
130**,< 30,*,Heart Disease
130**,< 30,*,Viral Infection
130**,< 30,*,Viral Infection
1485*,>= 40,*,Cancer
1485*,>= 40,*,Heart Disease
1485*,>= 40,*,Viral Infection
1485*,>= 40,*,Viral Infection
130**,3*,*,Cancer
130**,3*,*,Cancer
130**,3*,*,Cancer
130**,3*,*,Cancer
"""
NEIGHBOURS = "name,zip,age,nationality\nBob,13053,31,American\nUmeko,13068,21,Japanese\n"


def main() -> None:
    Path("hospital.csv").write_text(HOSPITAL)
    Path("neighbours.csv").write_text(NEIGHBOURS)
    evaluation = attack(
        "hospital.csv", knows="neighbours.csv", quasi=["zip", "age", "nationality"], sensitive="disease"
    )
    for each in evaluation.runs:
        print(f"{each.name}: right {each.findings.success:.1%}, guessing {each.findings.baseline:.1%}")
        for found in each.findings.victims:
            print(f"  {found.victim}: {found.claim}, {found.prior:.1%} → {found.posterior:.0%}")
    strongest = evaluation.strongest_run
    if strongest is not None:
        print(f"\nThe strongest is {strongest.name}. It is stopped by: {strongest.findings.stopped_by}")
    for why, skipped in evaluation.skipped_by_reason.items():
        print(f"Not run ({', '.join(each.name for each in skipped)}): {why}")


if __name__ == "__main__":
    main()
