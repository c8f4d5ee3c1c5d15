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
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.publishing import require_format


def publish(release: Release, policy: Policy, path: Path) -> list[Path]:
    """Write the table and its certificate; the ledger knows of it before there is a file."""
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
    require_format(path)
    _enter(release, policy, path)
    release.write(path)
    return [path, write_certificate(certificate(release), path)]


def _enter(release: Release, policy: Policy, path: Path) -> None:
    """Note the release in the ledger of the policy's promise."""
    if policy.promise is None:
        return
    shares = {name: each.share for name, each in policy.analysts.items()}
    with Ledger(policy.ledger, promise_of(policy), analysts=shares or None) as ledger:
        models = ", ".join(model.name for model in release.goal.models)
        ledger.note_release(path.name, f"{release.name}, {models}", certificate(release))
