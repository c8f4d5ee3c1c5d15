"""Publishing a release: the table, its certificate, and its entry in the ledger.

From then on "everything ever released" is no longer bounded by the differential-privacy promise alone, and
the ledger says so. It is entered before it is written: a run that is cut short leaves an entry without a
file, never a file without an entry. A policy that makes no promise has no ledger to enter it in.
"""

from __future__ import annotations

from pathlib import Path

from discreet.accounting.ledger import Ledger
from discreet.app.anonymizer import Release
from discreet.app.certificates import certificate, write_certificate
from discreet.app.policies import promise_of
from discreet.app.trial import Trial
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.publishing import require_format


def publish(release: Release, policy: Policy, path: Path, *, trial: Trial | None = None) -> list[Path]:
    """Write the table and its certificate; the ledger knows of it before there is a file.

    The certificate names the attacks of the trial, and that a bound was broken, if one was; no result.
    """
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
    require_format(path)
    content = certificate(
        release,
        attacks=() if trial is None else trial.names,
        forced=trial is not None and bool(trial.broken),
    )
    _enter(release, policy, path, content)
    release.write(path)
    return [path, write_certificate(content, path)]


def _enter(release: Release, policy: Policy, path: Path, content: dict[str, object]) -> None:
    """Note the release in the ledger of the policy's promise."""
    if policy.promise is None:
        return
    shares = {name: each.share for name, each in policy.analysts.items()}
    with Ledger(policy.ledger, promise_of(policy), analysts=shares or None) as ledger:
        models = ", ".join(model.name for model in release.goal.models)
        # where it is, so that what is published later can be tried together with it
        placed = content | {"path": str(path.absolute())}
        ledger.note_release(path.name, f"{release.name}, {models}", placed)
