"""Publishing a release: evaluation by attacks, the table, its certificate and report, and its ledger entry.

From then on "everything ever released" is no longer bounded by the differential-privacy promise alone, and
the ledger says so. The release is recorded before it is written: an interrupted run leaves an entry without a
file, never a file without an entry. A policy without a promise has no ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from discreet.core.output_files import require_output, write_output
from discreet.core.policy import Policy
from discreet.core.release_target import ReleaseTarget
from discreet.services.anonymize.private_generalizer import PrivateRelease
from discreet.services.anonymize.release import Release
from discreet.services.anonymize.release_certificate import (
    build_certificate,
    build_private_certificate,
    require_own_certificate,
    write_certificate,
)
from discreet.services.anonymize.release_evaluation import evaluate_release
from discreet.services.attack.evaluation import AttackEvaluation, bound_from_option
from discreet.services.ledgers import open_ledger
from discreet.services.publishers import parse_release_target

SIGNATURES = "signatures.parquet"
REPORT = "report.html"

ReportRenderer = Callable[[Release, AttackEvaluation], str]
"""Returns the custodian's report on a release as HTML; frontends pass it in."""

PrivateReportRenderer = Callable[[PrivateRelease], str]
"""Returns the custodian's report on a private release as HTML."""


def require_release_bounds(
    release: Release, *, at_most: float | None = None, others: Iterable[str | Path] = (), force: bool = False
) -> AttackEvaluation:
    """Attack a release and return the evaluation; raise if an attack breaks a bound, unless `force`."""
    trial = evaluate_release(release, release.policy, at_most=at_most, other_releases=others)
    trial.require_bounds(is_forced=force)
    return trial


def publish_release(
    release: Release,
    path: str | Path,
    evaluation: AttackEvaluation,
    *,
    at_most: float | None = None,
    forced: bool = False,
    render_report: ReportRenderer | None = None,
) -> list[Path | str]:
    """Record the release in the ledger, then write the table, its certificate and its report.

    The certificate names the attacks, the bounds of the models and of `at_most`, and whether the release was
    `forced`; no result. A release to which later ones will be chained also writes its signatures, for the
    custodian.
    """
    target = parse_release_target(release.policy, path)
    release.sources.require_safe_target(target)
    require_own_certificate(target)
    if release.chained_model is not None:
        require_output(target.make_companion_path(SIGNATURES))
    # rendering may fail, so it comes before anything is published
    report = None if render_report is None else render_report(release, evaluation)
    content = build_certificate(
        release, evaluation=evaluation, stated=bound_from_option(at_most), forced=forced
    )
    _record_in_ledger(release, release.policy, target, content)
    with target.lock():
        release.write_rows(path)
        written: list[Path | str] = [target.engine_name or Path(path), write_certificate(content, target)]
        if release.chained_model is not None:
            release.write_signatures(target.make_companion_path(SIGNATURES))
            written.append(target.make_companion_path(SIGNATURES))
        return [*written, *_write_report(report, target)]


def publish_private_release(
    release: PrivateRelease, path: str, *, render_report: PrivateReportRenderer | None = None
) -> list[Path | str]:
    """Write the table, its certificate and its report; the ledger already has its charge."""
    target = ReleaseTarget.parse(path)
    with target.lock():
        release.write(path)
        certificate = write_certificate(build_private_certificate(release), target)
        report = None if render_report is None else render_report(release)
        return [path, certificate, *_write_report(report, target)]


def _write_report(report: str | None, target: ReleaseTarget) -> list[Path]:
    """Write the report beside the published file, readable by its owner only: it is the custodian's."""
    if report is None:
        return []
    path = target.make_companion_path(REPORT)
    write_output(path, report, private=True)
    return [path]


def _record_in_ledger(
    release: Release, policy: Policy, target: ReleaseTarget, content: dict[str, object]
) -> None:
    """Record the release in the ledger of the policy's promise."""
    if policy.promise is None:
        return
    with open_ledger(policy) as ledger:
        models = ", ".join(model.name for model in release.goal.models)
        ledger.record_release(target.name, f"{release.name}, {models}", content | target.ledger_record)
