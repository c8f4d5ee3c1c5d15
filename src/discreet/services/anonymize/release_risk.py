"""Re-identification risk before and after a release: the figures of console, JSON and report.

All of it is computed from the real table, and is for the custodian only.
"""

from __future__ import annotations

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.risk.reidentification_risk import assess_risks
from discreet.anonymity.risk.uniqueness import Uniqueness, estimate_uniqueness
from discreet.belief.wording import format_number, format_percent
from discreet.services.anonymize.release import Release

Row = tuple[str, str, str]


def list_risk_rows(release: Release) -> list[Row]:
    """Return rows of a description, the figure before, and the figure after."""
    before, after = assess_risks(release.classes_before), assess_risks(release.classes)
    pairs = [
        ("highest, if known to be in the table (prosecutor)", before.prosecutor, after.prosecutor),
        ("highest, if not known (journalist)", before.journalist, after.journalist),
    ]
    found = [(name, format_percent(one.highest), format_percent(two.highest)) for name, one, two in pairs]
    found.append(("average (marketer)", format_percent(before.marketer), format_percent(after.marketer)))
    found.append(
        (
            "share of people above 20%",
            format_percent(before.prosecutor.at_risk),
            format_percent(after.prosecutor.at_risk),
        )
    )
    return found + _list_uniqueness_rows(release)


def risk_to_json(release: Release) -> dict[str, object]:
    """Return the figures for JSON."""
    return {
        "before": _figures_to_json(release.classes_before, release.fraction),
        "after": _figures_to_json(release.classes, release.fraction),
    }


def class_risk_to_json(classes: EquivalenceClasses) -> dict[str, float]:
    """Return the risks of some classes under the three attackers."""
    found = assess_risks(classes)
    return {
        "prosecutor_highest": found.prosecutor.highest,
        "prosecutor_average": found.prosecutor.success,
        "journalist_highest": found.journalist.highest,
        "marketer": found.marketer,
        "at_risk": found.prosecutor.at_risk,
    }


def _figures_to_json(classes: EquivalenceClasses, fraction: float | None) -> dict[str, object]:
    alone = estimate_uniqueness(classes, fraction or 1.0)
    estimates = {"zayatz": alone.zayatz, "pitman": alone.pitman, "snb": alone.snb}
    return {
        **class_risk_to_json(classes),
        "unique": alone.sample,
        "unique_in_population": None if fraction is None else estimates,
    }


def _list_uniqueness_rows(release: Release) -> list[Row]:
    """Return the number of people with unique quasi-identifiers, here and (estimated) in the population."""
    fraction = release.fraction
    one, two = (
        estimate_uniqueness(each, fraction or 1.0) for each in (release.classes_before, release.classes)
    )
    found = [("alone with their quasi-identifiers", f"{one.sample:,}", f"{two.sample:,}")]
    if fraction is not None:
        found += [
            (
                f"alone in the population, by estimate ({name})",
                _format_estimate(one, key),
                _format_estimate(two, key),
            )
            for name, key in (("Zayatz", "zayatz"), ("Pitman", "pitman"))
        ]
    return found


def _format_estimate(found: Uniqueness, key: str) -> str:
    return format_number(float(getattr(found, key)))
