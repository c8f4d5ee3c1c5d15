"""The certificate of a release: parameters and their consequences, never a result.

It is public, so it contains nothing computed from the data except what the release itself shows: how far each
column was generalized. It states the assumed knowledge of the attacker next to the belief that follows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from discreet.accounting.belief_sentences import describe_membership_belief
from discreet.anonymity.models import Model
from discreet.attacks import BackgroundKnowledge, Birthday, Intersection
from discreet.belief import compute_belief
from discreet.belief.wording import ATTACKER, format_number
from discreet.core.column_entry import Role
from discreet.core.errors import RequestError
from discreet.core.output_files import write_output
from discreet.core.release_target import ReleaseTarget
from discreet.engines.duckdb_publisher import FORMULA_CELLS
from discreet.services.anonymize.exposure import bounds_person_belief
from discreet.services.anonymize.private_generalizer import PrivateRelease
from discreet.services.anonymize.release import Release
from discreet.services.attack.evaluation import AttackEvaluation, BeliefBound, derive_model_bounds

OF_ROWS = "An attacker who also knows how many rows a person has may believe more."
OF_VALUES = "If a person has several values, this is about values and bounds no belief about the person."
ONE_VALUE_EACH = (BackgroundKnowledge.name, Intersection.name, Birthday.name)
INFORMED_ATTACKER = (
    "knows that a person is in the table, and everybody's quasi-identifiers, and nothing else about anybody"
)
MARKED = "a text that a spreadsheet would take for a formula has a single quote before it"
LIMITS = (
    "This release is not differentially private. Against an attacker who knows more about a person, or who "
    "has seen another release about the same people, none of these bounds holds."
)

PRIOR = 0.01
WIDER = 10
CONDITION = (
    "This holds if the levels were declared without looking at the data: a level that was chosen by looking "
    "at the data discloses something about it."
)


def build_certificate(
    release: Release,
    *,
    evaluation: AttackEvaluation | None = None,
    stated: Sequence[BeliefBound] = (),
    forced: bool = False,
) -> dict[str, object]:
    """Return the certificate of a release; of an evaluation, it lists the attacks that were run.

    Forced columns are published unchanged although they may identify people. `forced` means that the release
    would have been published whatever the attacks found. It does not mean that a bound is broken, which is
    computed from the data and therefore not disclosed.
    """
    goal = release.goal
    return {
        "kind": "recoded table",
        "table": release.name,
        "unit": "row" if release.source.person is None else "person",
        "method": goal.method.value,
        "meaning": goal.method.meaning,
        "objective": goal.objective.name if release.search_result is not None else None,
        "search": release.search_outcome,
        "weights": dict(goal.weights),
        "suppression_limit": str(goal.suppress),
        "columns": {name: _column_to_json(release, name) for name in release.table.columns},
        "models": [_model_to_json(model, release) for model in goal.models],
        "pseudonyms": [each.declaration for each in goal.pseudonyms],
        "chained": goal.earlier is not None,
        "bounds": [bound.to_json() for bound in (*derive_model_bounds(goal.models), *stated)],
        "attacker": INFORMED_ATTACKER,
        "limits": LIMITS,
        "attacks_run": [] if evaluation is None else _list_attacks_run(evaluation, release.unit),
        "forced": forced,
        "forced_columns": list(release.forced_columns),
    }


def build_private_certificate(release: PrivateRelease) -> dict[str, object]:
    """Return the public certificate: parameters and their consequences."""
    made = release.mechanism
    return {
        "kind": "differentially private generalization",
        "table": release.name,
        "unit": "row" if release.table.person == "row" else "person",
        "method": "private",
        "columns": {
            name: {
                "published": f"level {release.levels[name]}" if name in release.levels else "left out",
                "role": column.role.value,
            }
            for name, column in release.table.columns.items()
        },
        "relation": made.guarantee.relation.value,
        "epsilon": float(made.epsilon),
        "delta": float(made.guarantee.delta),
        "sampling": float(made.beta),
        "k": made.k,
        "attacker": ATTACKER,
        "belief": describe_guarantee(release),
        "limits": CONDITION,
        "attacks_run": [],
    }


def describe_guarantee(release: PrivateRelease) -> str:
    """Return a sentence on the belief that the release allows an attacker."""
    guarantee = release.mechanism.guarantee
    rarely = WIDER * float(guarantee.delta)
    after = compute_belief(PRIOR, guarantee, tail=rarely).highest
    return (
        f"(epsilon {format_number(float(guarantee.epsilon))}, delta "
        f"{float(guarantee.delta):.2g})-differentially "
        f"private for added and removed people: {describe_membership_belief(PRIOR, after, rarely)}."
    )


def write_certificate(content: dict[str, object], target: ReleaseTarget) -> Path:
    """Write the certificate beside the published file, with the file's digest.

    A table inside a database file has no digest of its own. The certificate of an engine's table is written
    to a local file named after the table.
    """
    path = target.make_companion_path("certificate.json")
    where = target.certificate_fields
    if not (target.table or target.engine_name):
        with target.file.open("rb") as file:
            where["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    if target.file.suffix.lower() == ".csv" and not target.engine_name:
        where[FORMULA_CELLS] = MARKED
    write_output(path, json.dumps(content | where, indent=2) + "\n")
    return path


def require_own_certificate(target: ReleaseTarget) -> None:
    """Raise if the certificate beside this output belongs to another release."""
    path = target.make_companion_path("certificate.json")
    if not path.exists():
        return
    told: object = None
    with suppress(OSError, ValueError):
        told = json.loads(path.read_text(encoding="utf-8"))
    names = ("file", "table_of_file", "kept_as")
    certified = {name: told[name] for name in names if name in told} if isinstance(told, dict) else None
    if certified != target.certificate_fields:
        raise RequestError(
            f"{path.name} certifies another release than {target.name}, and would be overwritten.",
            hint="Write to a file with another name, or move that certificate.",
        )


def _list_attacks_run(evaluation: AttackEvaluation, unit: str) -> list[str]:
    """Return the attacks that are run on any table.

    Some run only if nobody has several values, so naming them would disclose that of a table of people.
    """
    telling = ONE_VALUE_EACH if unit == "person" else ()
    return [name for name in evaluation.attack_names if name not in telling]


def _model_to_json(model: Model, release: Release) -> dict[str, object]:
    """Return a model and the belief it allows, with a caveat if people have several rows."""
    more = "" if release.unit == "row" else f" {OF_ROWS if bounds_person_belief(model) else OF_VALUES}"
    return {
        "name": model.name,
        "column": model.column,
        "belief": f"{release.describe_belief(model)}{more}",
        "not_stopped": list(model.not_stopped),
    }


def _column_to_json(release: Release, name: str) -> dict[str, object]:
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
        "published": release.describe_certified_level(release.source.quasi.index(name)),
        "hierarchy": release.table.columns[name].hierarchy or name,
        "missing": None if missing is None else missing.value,
    }
