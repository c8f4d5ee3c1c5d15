"""The kind of release under attack, from options and file; options of other kinds are refused."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from discreet.app.trials.attacked import certificate_of
from discreet.app.trials.request import Request
from discreet.core.errors import RequestError

POLICIES = (".yaml", ".yml")
MADE_UP = "differentially private synthetic table"


class Release(StrEnum):
    """The kind of a release, by what an attacker sees of it."""

    ANSWERS = "answers"
    TABLE = "a published table"
    RATINGS = "ratings"
    FREQUENCIES = "allele frequencies"
    SYNTHETIC = "a synthetic table"


FITTING: dict[Release, tuple[str, ...]] = {
    Release.ANSWERS: ("victim", "table", "claim", "victims", "engine"),
    Release.TABLE: (
        "knows",
        "victim",
        "earlier",
        "quasi",
        "sensitive",
        "hierarchies",
        "rules_out",
        "base_rates",
        "columns",
        "earlier_columns",
        "table",
        "person",
        "engine",
    ),
    Release.RATINGS: (
        "title",
        "knows",
        "victim",
        "columns",
        "table",
        "person",
        "rating",
        "date",
        "days",
        "stars",
        "wrong",
        "engine",
    ),
    Release.FREQUENCIES: ("genomes", "reference", "panel", "people", "epsilon", "victim", "engine"),
    Release.SYNTHETIC: ("panel", "original", "sensitive", "table", "engine"),
}
CALLED = {
    "earlier": "--with",
    "hierarchies": "--hierarchy",
    "base_rates": "--base-rate",
    "columns": "--column",
    "earlier_columns": "--earlier-column",
}
WAYS = {
    Release.ANSWERS: "name a policy.yaml in the release's place",
    Release.TABLE: "name its file, and --quasi or --policy",
    Release.RATINGS: "name the column of what was rated with --title",
    Release.FREQUENCIES: "give --genomes and --reference",
    Release.SYNTHETIC: "name people who are not in the data with --panel",
}


def kind_of(request: Request) -> Release:
    """Return the kind of release; raise RequestError for options that do not apply to it."""
    kind = _kind(request)
    for field in dict.fromkeys(each for fields in FITTING.values() for each in fields):
        if getattr(request, field) not in (None, ()) and field not in FITTING[kind]:
            others = [other for other, fields in FITTING.items() if field in fields]
            raise RequestError(
                f"attack: {_option(field)} applies to {' or '.join(others)}, but the release is {kind}.",
                hint=f"Leave it out, or {WAYS[others[0]]}.",
            )
    return kind


def _option(field: str) -> str:
    return CALLED.get(field, f"--{field.replace('_', '-')}")


def _kind(request: Request) -> Release:
    path = Path(request.release)
    if path.suffix.lower() in POLICIES:
        return Release.ANSWERS
    if request.genomes is not None or request.reference is not None:
        return Release.FREQUENCIES
    if request.title is not None:
        return Release.RATINGS
    made_up = path.suffix and certificate_of(path).get("kind") == MADE_UP
    if request.panel is not None or request.original is not None or made_up:
        return Release.SYNTHETIC
    return Release.TABLE
