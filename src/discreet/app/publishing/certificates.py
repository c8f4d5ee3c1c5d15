"""The certificate of a release: parameters and what follows from them, never a result.

It is public, so nothing in it was computed from the data but what the release itself shows: which columns
were made coarser how far. What an attacker is taken to know stands beside what he may then believe.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from discreet.anonymity.models import Model
from discreet.app.publishing.exposure import about_people
from discreet.app.publishing.release import Release
from discreet.app.trials.bounds import Bound, of_models
from discreet.app.trials.trial import Trial
from discreet.attacks import BackgroundKnowledge, Birthday, Intersection
from discreet.core.errors import RequestError
from discreet.core.output_files import write_output
from discreet.core.policy import Role
from discreet.engines.publishing import FORMULA_CELLS, Target

OF_ROWS = "Who also knows how many rows a person has may believe more."
OF_VALUES = "Where a person has several values this is about values, and bounds no belief about the person."
ONE_VALUE_EACH = (BackgroundKnowledge.name, Intersection.name, Birthday.name)
ATTACKER = (
    "knows that a person is in the table, and everybody's quasi-identifiers, and nothing else about anybody"
)
MARKED = "a text that a spreadsheet would take for a formula has a single quote before it"
LIMITS = (
    "This release is not differentially private. Against an attacker who knows more about a person, or who "
    "has seen another release about the same people, none of these bounds holds."
)


def certificate(
    release: Release, *, trial: Trial | None = None, stated: Sequence[Bound] = (), forced: bool = False
) -> dict[str, object]:
    """What may be published beside a release; of a trial, which attacks were run.

    `forced` says that it would have been published whatever they found, not that a bound is broken: that is
    computed from the data.
    """
    goal = release.goal
    return {
        "kind": "recoded table",
        "table": release.name,
        "unit": "row" if release.subject.person is None else "person",
        "method": goal.method.value,
        "meaning": goal.method.meaning,
        "objective": goal.objective.name if release.found is not None else None,
        "search": release.searched,
        "weights": dict(goal.weights),
        "suppression_limit": str(goal.suppress),
        "columns": {name: _column(release, name) for name in release.table.columns},
        "models": [_model(model, release) for model in goal.models],
        "pseudonyms": [each.declaration for each in goal.pseudonyms],
        "chained": goal.earlier is not None,
        "bounds": [bound.as_object() for bound in (*of_models(goal.models), *stated)],
        "attacker": ATTACKER,
        "limits": LIMITS,
        "attacks_run": [] if trial is None else _attacks_run(trial, release.unit),
        "forced": forced,
    }


def write_certificate(content: dict[str, object], target: Target) -> Path:
    """Beside the published file, whose digest it carries; a table among others has none of its own.

    That of an engine's table is here, under the table's name.
    """
    path = target.beside("certificate.json")
    where = target.described
    if not (target.table or target.kept):
        with target.file.open("rb") as file:
            where["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    if target.file.suffix.lower() == ".csv" and not target.kept:
        where[FORMULA_CELLS] = MARKED
    write_output(path, json.dumps(content | where, indent=2) + "\n")
    return path


def require_own_certificate(target: Target) -> None:
    """Refuse a name beside which the certificate of another release stands: it would be overwritten."""
    path = target.beside("certificate.json")
    if not path.exists():
        return
    told: object = None
    with suppress(OSError, ValueError):
        told = json.loads(path.read_text(encoding="utf-8"))
    names = ("file", "table_of_file", "kept_as")
    certified = {name: told[name] for name in names if name in told} if isinstance(told, dict) else None
    if certified != target.described:
        raise RequestError(
            f"{path.name} is the certificate of another release than {target.name}, and would be lost.",
            hint="Write to a file of another name, or move that certificate away.",
        )


def _attacks_run(trial: Trial, unit: str) -> list[str]:
    """The attacks that were run whatever the table holds.

    Some are run only where nobody has several values, which a table of people does not show by itself.
    """
    telling = ONE_VALUE_EACH if unit == "person" else ()
    return [name for name in trial.names if name not in telling]


def _model(model: Model, release: Release) -> dict[str, object]:
    """A model and what it allows; where people have several rows, what that leaves open."""
    more = "" if release.unit == "row" else f" {OF_ROWS if about_people(model) else OF_VALUES}"
    return {
        "name": model.name,
        "column": model.column,
        "belief": f"{release.describe_belief(model)}{more}",
        "not_stopped": list(model.not_stopped),
    }


def _column(release: Release, name: str) -> dict[str, object]:
    role = release.table.columns[name].role
    if name not in release.columns:
        return {"role": role.value, "published": "left out"}
    if name in {each.column for each in release.goal.pseudonyms}:
        return {"role": role.value, "published": "as keyed pseudonyms"}
    if role is not Role.QUASI:
        return {"role": role.value, "published": "as it is"}
    missing = release.table.columns[name].missing
    return {
        "role": role.value,
        "published": release.certified(release.subject.quasi.index(name)),
        "hierarchy": release.table.columns[name].hierarchy or name,
        "missing": None if missing is None else missing.value,
    }
