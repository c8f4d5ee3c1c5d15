"""The work of HTTP jobs: the same as the commands of the same names, into the job's own folder.

A request that the policy does not allow is refused before a job is started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.app.audits import auditing
from discreet.app.books import asking
from discreet.app.http.door import HttpDoor
from discreet.app.http.job_bodies import Anonymize, Audit, Synthesize
from discreet.app.http.releases import release_file
from discreet.app.progress import Tell
from discreet.app.publishing import anonymize_command, private_options, private_release_view
from discreet.app.publishing import release_view as anonymize_view
from discreet.app.publishing.anonymize_options import build_anonymizer
from discreet.app.publishing.anonymize_validation import PRIVATE, require_known_names
from discreet.app.publishing.table_request import resolve_policy_table
from discreet.app.serve.job import Outcome, Work
from discreet.app.synthesis import publishing
from discreet.app.synthesis import view as synthesis_view
from discreet.app.synthesis.synthesizing import Request, planned
from discreet.app.trials import view as attack_view

LONGEST_NAME = 200
OF_SYNTHESIS = ("preparing", "synthesizing", "attacking", "comparing", "writing")
OF_ANONYMIZATION = ("counting", "searching", "attacking", "writing")
OF_SAMPLING = ("counting", "writing")
OF_AUDITS = ("choosing", "running")


def synthesis(door: HttpDoor, body: Synthesize) -> Work:
    """Return the work of a job that synthesizes a table."""
    policy = resolve_policy_table(door.curators.policy, body.table, None).policy
    analyst = asking(policy, body.analyst)
    request = Request(
        table=body.table,
        epsilon=body.epsilon,
        delta=body.delta,
        quality=body.quality,
        columns=body.columns,
        logarithmic=body.log,
        earlier=body.agree,
    )
    planned(door.curators.of(analyst), request)  # raises what can be refused before the job starts

    def do(tell: Tell, folder: Path) -> Outcome:
        made = publishing.publish(policy, request, _output(folder, body), analyst=analyst, tell=tell)
        found = synthesis_view.as_object(made.found, made.comparison, made.trial, made.written)
        return _outcome(found, made.written)

    return Work(
        kind=body.kind,
        name=f"synthesize {body.table} for {analyst}",
        stages=OF_SYNTHESIS,
        binding="synthesizing",
        do=do,
    )


def anonymization(door: HttpDoor, body: Anonymize) -> Work:
    """Return the work of a job that generalizes a table."""
    named = resolve_policy_table(door.curators.policy, body.table, body.population)
    require_known_names(body.table, door.policy_file, method=body.method, objective=body.objective)
    private = body.method == PRIVATE
    made = private_options.build_private_generalizer if private else build_anonymizer
    made(_request(door, body), named, lambda _: None)  # raises what can be refused before the job starts

    def do(tell: Tell, folder: Path) -> Outcome:
        request = _request(door, body, _output(folder, body))
        if private:
            sampled, files = anonymize_command.find_and_publish_privately(request, named, tell)
            return _outcome(private_release_view.private_release_to_json(sampled), files)
        release, trial, files = anonymize_command.find_and_publish(request, named, tell)
        found = anonymize_view.release_to_json(release) | {"warnings": list(release.warnings)}
        return _outcome(found | {"trial": attack_view.as_object(trial)}, files)

    return Work(
        kind=body.kind,
        name=f"anonymize {body.table}",
        stages=OF_SAMPLING if private else OF_ANONYMIZATION,
        binding="counting" if private else "writing",
        do=do,
    )


def audit(door: HttpDoor, body: Audit) -> Work:
    """Return the work of a job that audits a query or a mechanism."""
    policy = door.curators.policy if auditing.is_question(body.audited) else None

    def do(tell: Tell, folder: Path) -> Outcome:
        found, beliefs = auditing.audit_any(
            body.audited,
            policy,
            body.epsilon,
            None if body.delta is None else str(body.delta),
            body.runs,
            body.confidence,
            tell,
            posterior=body.posterior,
            session=body.session,
        )
        told = auditing.as_object(found, beliefs)
        return Outcome(found=told, document=told)

    return Work(kind=body.kind, name=f"audit {body.audited[:LONGEST_NAME]}", stages=OF_AUDITS, do=do)


def _output(folder: Path, body: Synthesize | Anonymize) -> Path:
    return folder / f"{body.name or body.table}.parquet"


def _outcome(found: Mapping[str, object], files: Sequence[Path | str]) -> Outcome:
    rows, certificate = map(Path, files[:2])
    return Outcome(found=found, document=json.loads(certificate.read_text(encoding="utf-8")), file=rows)


def _request(
    door: HttpDoor, body: Anonymize, output: Path | None = None
) -> anonymize_command.AnonymizeRequest:
    return anonymize_command.AnonymizeRequest(
        table=body.table,
        policy=door.policy_file,
        population=body.population,
        models=anonymize_command.ModelOptions(
            k=body.k,
            l_diversity=body.l_diversity,
            t_closeness=body.t_closeness,
            delta_presence=body.delta_presence,
            k_map=body.k_map,
            alpha=body.alpha,
            delta_disclosure=body.delta_disclosure,
            beta_likeness=body.beta_likeness,
            risk=body.risk,
        ),
        sampling=body.sampling,
        posterior=body.posterior,
        suppress=body.suppress,
        objective=body.objective,
        method=body.method,
        weights=_pairs(body.weight),
        levels=_pairs(body.level),
        centres=_pairs(body.centre),
        epsilon=body.epsilon,
        delta=body.delta,
        analyst=body.analyst,
        unit=body.unit,
        seconds=body.seconds,
        output=None if output is None else str(output),
        at_most=body.at_most,
        others=[release_file(door, each) for each in body.others],
        force=body.force,
    )


def _pairs(values: Mapping[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
