"""The service behind `discreet attack` and `POST /api/attacks`: run the attacks that apply to a release."""

from __future__ import annotations

from collections.abc import Callable

from discreet.services.attack.answers_evaluation import attack_answers
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.attack.frequencies_evaluation import attack_frequencies
from discreet.services.attack.ratings_evaluation import attack_ratings
from discreet.services.attack.release_kinds import ReleaseKind, determine_release_kind
from discreet.services.attack.synthetic_attack import attack_synthetic
from discreet.services.attack.table_evaluation import attack_published_table

__all__ = ["AttackRequest", "attack_release"]

ProgressReporter = Callable[[str], None]
EVALUATORS: dict[ReleaseKind, Callable[[AttackRequest, ProgressReporter], AttackEvaluation]] = {
    ReleaseKind.ANSWERS: attack_answers,
    ReleaseKind.TABLE: attack_published_table,
    ReleaseKind.RATINGS: attack_ratings,
    ReleaseKind.FREQUENCIES: attack_frequencies,
    ReleaseKind.SYNTHETIC: attack_synthetic,
}


def attack_release(request: AttackRequest, report_progress: ProgressReporter) -> AttackEvaluation:
    """Run the attacks that apply to the request's kind of release.

    Raises:
        RequestError: options of another kind of release, or columns and files that do not exist.
    """
    return EVALUATORS[determine_release_kind(request)](request, report_progress)
