"""Re-identification risk before and after a release: the figures of console, JSON and report.

All of it is computed from the real table, and is for the custodian only.
"""

from __future__ import annotations

from discreet.anonymity.classes import Classes
from discreet.anonymity.risk.attackers import risks
from discreet.anonymity.risk.uniqueness import Uniqueness, uniqueness
from discreet.app.publishing.release import Release
from discreet.belief.wording import number, percent

Row = tuple[str, str, str]


def rows(release: Release) -> list[Row]:
    """Return rows of a description, the figure before, and the figure after."""
    before, after = risks(release.before), risks(release.classes)
    pairs = [
        ("highest, if known to be in the table (prosecutor)", before.prosecutor, after.prosecutor),
        ("highest, if not known (journalist)", before.journalist, after.journalist),
    ]
    found = [(name, percent(one.highest), percent(two.highest)) for name, one, two in pairs]
    found.append(("average (marketer)", percent(before.marketer), percent(after.marketer)))
    found.append(
        ("share of people above 20%", percent(before.prosecutor.at_risk), percent(after.prosecutor.at_risk))
    )
    return found + _alone(release)


def as_object(release: Release) -> dict[str, object]:
    """Return the figures for JSON."""
    return {
        "before": _figures(release.before, release.fraction),
        "after": _figures(release.classes, release.fraction),
    }


def of_classes(classes: Classes) -> dict[str, float]:
    """Return the risks of some classes under the three attackers."""
    found = risks(classes)
    return {
        "prosecutor_highest": found.prosecutor.highest,
        "prosecutor_average": found.prosecutor.success,
        "journalist_highest": found.journalist.highest,
        "marketer": found.marketer,
        "at_risk": found.prosecutor.at_risk,
    }


def _figures(classes: Classes, fraction: float | None) -> dict[str, object]:
    alone = uniqueness(classes, fraction or 1.0)
    estimates = {"zayatz": alone.zayatz, "pitman": alone.pitman, "snb": alone.snb}
    return {
        **of_classes(classes),
        "unique": alone.sample,
        "unique_in_population": None if fraction is None else estimates,
    }


def _alone(release: Release) -> list[Row]:
    """Return the number of people with unique quasi-identifiers, here and (estimated) in the population."""
    fraction = release.fraction
    one, two = (uniqueness(each, fraction or 1.0) for each in (release.before, release.classes))
    found = [("alone with their quasi-identifiers", f"{one.sample:,}", f"{two.sample:,}")]
    if fraction is not None:
        found += [
            (f"alone in the population, by estimate ({name})", _estimate(one, key), _estimate(two, key))
            for name, key in (("Zayatz", "zayatz"), ("Pitman", "pitman"))
        ]
    return found


def _estimate(found: Uniqueness, key: str) -> str:
    return number(float(getattr(found, key)))
