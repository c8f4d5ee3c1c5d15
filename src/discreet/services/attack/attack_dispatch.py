"""The service behind `discreet attack` and `POST /api/attacks`: run the attacks that apply to a release.

The kind of release follows from request and file; fields of other kinds are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.core.errors import RequestError
from discreet.services.attack.answers_evaluation import attack_answers
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import REQUEST_HINTS, AttackEvaluation, ReleaseKind
from discreet.services.attack.frequencies_evaluation import attack_frequencies
from discreet.services.attack.ratings_evaluation import attack_ratings
from discreet.services.attack.synthetic_attack import attack_synthetic
from discreet.services.attack.table_evaluation import attack_published_table
from discreet.services.attack.target_release import read_certificate
from discreet.services.progress import ProgressCallback

POLICY_SUFFIXES = (".yaml", ".yml")
SYNTHETIC_KIND = "differentially private synthetic table"
EVALUATORS: dict[ReleaseKind, Callable[[AttackRequest, ProgressCallback], AttackEvaluation]] = {
    ReleaseKind.ANSWERS: attack_answers,
    ReleaseKind.TABLE: attack_published_table,
    ReleaseKind.RATINGS: attack_ratings,
    ReleaseKind.FREQUENCIES: attack_frequencies,
    ReleaseKind.SYNTHETIC: attack_synthetic,
}
FIELDS_BY_KIND: dict[ReleaseKind, tuple[str, ...]] = {
    ReleaseKind.ANSWERS: ("victim", "table", "claim", "victims", "engine"),
    ReleaseKind.TABLE: (
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
    ReleaseKind.RATINGS: (
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
    ReleaseKind.FREQUENCIES: ("genomes", "reference", "panel", "people", "epsilon", "victim", "engine"),
    ReleaseKind.SYNTHETIC: ("panel", "original", "sensitive", "table", "engine"),
}


def attack_release(request: AttackRequest, report_progress: ProgressCallback) -> AttackEvaluation:
    """Run the attacks that apply to the request's kind of release.

    Raises:
        RequestError: options of another kind of release, or columns and files that do not exist.
    """
    return EVALUATORS[determine_release_kind(request)](request, report_progress)


def determine_release_kind(request: AttackRequest) -> ReleaseKind:
    """Return the kind of release; raise RequestError for options that do not apply to it."""
    kind = _infer_kind(request)
    for field in dict.fromkeys(each for fields in FIELDS_BY_KIND.values() for each in fields):
        if getattr(request, field) not in (None, (), {}) and field not in FIELDS_BY_KIND[kind]:
            others = [other for other, fields in FIELDS_BY_KIND.items() if field in fields]
            raise RequestError(
                f"attack: `{field}=` applies to {' or '.join(others)}, but the release is {kind}.",
                hint=f"Leave it out, or {REQUEST_HINTS[others[0]]}.",
            )
    return kind


def _infer_kind(request: AttackRequest) -> ReleaseKind:
    path = Path(request.release)
    if path.suffix.lower() in POLICY_SUFFIXES:
        return ReleaseKind.ANSWERS
    if request.genomes is not None or request.reference is not None:
        return ReleaseKind.FREQUENCIES
    if request.title is not None:
        return ReleaseKind.RATINGS
    made_up = path.suffix and read_certificate(path).get("kind") == SYNTHETIC_KIND
    if request.panel is not None or request.original is not None or made_up:
        return ReleaseKind.SYNTHETIC
    return ReleaseKind.TABLE
