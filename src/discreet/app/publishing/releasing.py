"""Publishing a release: the table, its certificate, and its entry in the ledger.

From then on "everything ever released" is no longer bounded by the differential-privacy promise alone, and
the ledger says so. It is entered before it is written: a run that is cut short leaves an entry without a
file, never a file without an entry. A policy that makes no promise has no ledger to enter it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.app.books import opened
from discreet.app.publishing.certificates import certificate, require_own_certificate, write_certificate
from discreet.app.publishing.release import Release
from discreet.app.trials.bounds import Bound
from discreet.app.trials.trial import Trial
from discreet.core.policy import Policy
from discreet.engines.publishing import Target

SIGNATURES = "signatures.parquet"


def publish(
    release: Release,
    policy: Policy,
    path: Path,
    *,
    trial: Trial | None = None,
    stated: Sequence[Bound] = (),
    forced: bool = False,
) -> list[Path]:
    """Write the table and its certificate; the ledger knows of it before there is a file.

    The certificate names the attacks of the trial, the bounds that were `stated` beside those of the models,
    and whether it was `forced` past them; no result. A release that later ones are to be chained to leaves
    its signatures beside it, for the custodian.
    """
    target = Target.of(path)
    release.sources.require_elsewhere(target)
    require_own_certificate(target)
    content = certificate(release, trial=trial, stated=stated, forced=forced)
    _enter(release, policy, target, content)
    release.write(path)
    written = [path, write_certificate(content, target)]
    if release.chain is not None:
        release.write_signatures(target.beside(SIGNATURES))
        written.append(target.beside(SIGNATURES))
    return written


def _enter(release: Release, policy: Policy, target: Target, content: dict[str, object]) -> None:
    """Note the release in the ledger of the policy's promise."""
    if policy.promise is None:
        return
    with opened(policy) as ledger:
        models = ", ".join(model.name for model in release.goal.models)
        # where it is, so that what is published later can be tried together with it
        placed = content | {"path": str(target.file.absolute()), "inner": target.table}
        ledger.note_release(target.name, f"{release.name}, {models}", placed)
