"""Verbs for the custodian, who holds the data: check it, publish a recoded table, attack a release, audit.

Nothing here is charged. What these verbs return is computed from real data, except an audit: only what
`Release.write` writes may be published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

from discreet.accounting.ledger_storage import MEMORY
from discreet.anonymity.models import KAnonymity, Model
from discreet.anonymity.models.model_option import ModelContext, ModelSpec
from discreet.anonymity.models.model_parsing import parse_model_text
from discreet.anonymity.models.posterior_cap import PosteriorCap
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms
from discreet.anonymity.search import Objective
from discreet.api.anonymizer import Anonymizer, Release
from discreet.api.arguments import Names, list_names, refuse_invalid_arguments
from discreet.api.frame_sources import FRAME_NAME, FrameTerms
from discreet.attacks.privacy_audit import DEFAULT_RUNS, Sampler, audit_epsilon
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter, shorten_value
from discreet.core.number_checks import DEFAULT_CONFIDENCE
from discreet.core.policy import Policy
from discreet.services import sample
from discreet.services.anonymize.anonymize import build_model_context, build_pseudonyms, make_person_error
from discreet.services.anonymize.anonymizer import load_declared_policy
from discreet.services.anonymize.release_evaluation import evaluate_release
from discreet.services.anonymize.release_goal import Method
from discreet.services.anonymize.release_options import Texts
from discreet.services.attack.attack_dispatch import attack_release
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.audit.audit_dispatch import AuditResult, run_audit
from discreet.services.audit.audit_request import AuditRequest
from discreet.services.check.check import run_check
from discreet.services.check.check_report import DataCheck
from discreet.services.check.check_request import make_check_request
from discreet.services.check.data_check import check_data
from discreet.services.curator import Curator
from discreet.services.frame_tables import (
    build_published_policy,
    find_shared_person,
    read_whole_frame,
    write_frames,
)
from discreet.services.frames import Frame, is_frame, is_spark_frame
from discreet.services.policies import load_policy
from discreet.services.policy_engines import apply_tables, read_frames
from discreet.services.policy_values import Columns, PolicyForm, build_frame_policy, require_mapping
from discreet.services.progress import ignore_progress
from discreet.services.request_fields import make_request


@refuse_invalid_arguments
def anonymize(
    policy: PolicyForm | Frame,
    table: Frame | str | None = None,
    *,
    quasi: Names = (),
    sensitive: Names = (),
    keep: Names = (),
    force: bool = False,
    columns: Columns | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Mapping[str, object]] | None = None,
    k: int | None = None,
    models: Sequence[Model | str] = (),
    posterior: PosteriorCap | float | str | None = None,
    suppress: Fraction | float | str = 0,
    objective: Objective | str | None = None,
    method: Method | str = Method.GENERALIZE,
    weights: Mapping[str, float] | Texts | None = None,
    levels: Mapping[str, int] | Texts | None = None,
    centres: Mapping[str, Centre | str] | Texts | None = None,
    pseudonyms: Names | Sequence[Pseudonyms] = (),
    key: Path | str | None = None,
    earlier: Frame | None = None,
    seconds: float | None = None,
    sampling: float | None = None,
    unit: str | None = None,
    population: str | None = None,
) -> Release:
    """Find the release of a table that meets the privacy models and loses least; nothing is written yet.

    `table` is a table of the policy, or a frame with the columns of the policy's only table. A frame needs no
    policy: pass it first, and name its `quasi` and `sensitive` columns, and others to `keep` unchanged; no
    others are published. With `force`, kept columns are published although they may identify people, and the
    certificate lists them. `columns` may declare bounds and values as in `ask`, from which generalizations
    follow, and `hierarchies` are those of a policy. `person` is the column that identifies people, whom `k`
    then counts; "row" if each row is a person, which a frame with a column such as `patient` has to say.

    `k` is short for the model `KAnonymity(k=k)`; other models are in `discreet.models`, or texts with an
    option of the command line: `l-diversity disease:2:distinct`. At least one must be given. `release.write`
    attacks the release, and publishes it with its certificate.

    `levels`, `weights` and `centres` are dicts by column, or texts such as `age=2`. `pseudonyms` are
    identifiers that are published as pseudonyms under the key of the file `key`, which is created if it does
    not exist. `population` is a table of everybody, in the policy or in a file. `unit="row"` counts rows
    where a person may have several.

    >>> anonymize("sample/privacy.yaml", "hospital", k=5, suppress="2%")  # doctest: +SKIP
    <Release of hospital (admitted, age, sex, zipcode, disease, days, cost): generalize, 5-anonymity>
    """
    if isinstance(policy, pa.RecordBatchReader):
        policy = policy.read_all()  # its rows can be read once
    if is_frame(policy):
        if person is None and unit is None:
            _require_person(policy, [quasi, sensitive, keep], columns)
        made = build_published_policy(
            policy,
            FRAME_NAME,
            quasi=list_names("quasi", quasi),
            sensitive=list_names("sensitive", sensitive),
            keep=list_names("keep", keep),
            columns=None if columns is None else require_mapping("columns", columns),
            person=None if person == "row" else person,
            hierarchies=None if hierarchies is None else require_mapping("hierarchies", hierarchies),
        )
        declared, _ = apply_tables(made, {FRAME_NAME: policy})
        table = FRAME_NAME if is_spark_frame(policy) else policy  # a frame of Spark is a table there
    else:
        declared = load_declared_policy(policy)
        _refuse_frame_arguments(
            quasi=quasi,
            sensitive=sensitive,
            keep=keep,
            force=force or None,
            columns=columns,
            person=person,
            hierarchies=hierarchies,
        )
        if table is None:
            raise InvalidParameterError("anonymize: no table is named.", hint="Give its name: `table=`.")
    found = Anonymizer(
        declared,
        models=_build_models(declared, table, models, k=k, has_population=population is not None),
        posterior=posterior,
        suppress=suppress,
        objective=objective,
        method=method,
        weights=weights,
        levels=levels,
        centres=centres,
        pseudonyms=_build_pseudonyms(pseudonyms, key),
        earlier=None if earlier is None else read_whole_frame(earlier),
        seconds=seconds,
        sampling=sampling,
        unit=unit,
        population=population,
        forced_columns=list_names("keep", keep) if force else (),
    )
    return found.fit(table).release


def _require_person(frame: Frame, listed: Sequence[Names], columns: Columns | None) -> None:
    """Refuse a frame that seems to have several rows for a person, as a file is."""
    named = {name for names in listed for name in list_names("columns", names)}
    shared = find_shared_person(frame, named | set(columns or {}))
    if shared is not None:
        raise make_person_error(shared)


def _refuse_frame_arguments(**given: object) -> None:
    """Refuse arguments that describe a frame where a policy declares its columns."""
    for name, value in given.items():
        if value is not None and value != ():
            raise InvalidParameterError(
                f"anonymize: `{name}=` is for a frame; of a policy's table, the policy declares it.",
                hint="Change the policy, or pass a frame.",
            )


def _build_pseudonyms(columns: Names | Sequence[Pseudonyms], key: Path | str | None) -> Sequence[Pseudonyms]:
    """Return the pseudonyms of columns under the key of a file; those that are made already stay."""
    given = columns if isinstance(columns, Sequence) else ()
    made = [each for each in given if isinstance(each, Pseudonyms)]
    if made and len(made) == len(given):
        return made
    require_parameter(isinstance(key, str | Path | None), "anonymize", "key", key, "the path of a file")
    names = list_names("pseudonyms", columns)  # type: ignore[arg-type]
    if bool(names) != (key is not None):
        raise InvalidParameterError(
            "anonymize: `pseudonyms=` and `key=` go together.",
            hint="Give both; a key file that does not exist is created, readable by its owner only.",
        )
    return build_pseudonyms(names, None if key is None else Path(key))


def _build_models(
    policy: Policy, table: object, models: Sequence[Model | str], *, k: int | None, has_population: bool
) -> list[Model]:
    """Return k-anonymity, if k is given, and the models, of which texts are parsed."""
    listed = (models,) if isinstance(models, str) else models
    require_parameter(isinstance(listed, Sequence), "anonymize", "models", models, "a list of models")
    parsed = [parse_model_text(each) if isinstance(each, str) else each for each in listed]
    if k is not None:
        parsed.insert(0, KAnonymity(k=k))
    built = [
        each.build(ModelContext())
        for each in parsed
        if isinstance(each, ModelSpec) and each.kind is KAnonymity
    ]
    sizes = [each.k for each in (*parsed, *built) if isinstance(each, KAnonymity)]
    name = table if isinstance(table, str) else next(iter(policy.tables), "")
    context = build_model_context(policy, name, k=max(sizes, default=None), has_population=has_population)
    return [each.build(context) if isinstance(each, ModelSpec) else each for each in parsed]


@refuse_invalid_arguments
def attack(
    release: Release | Frame | Path | str,
    *,
    policy: Path | str | None = None,
    table: str | None = None,
    knows: Frame | Path | str | None = None,
    victim: Mapping[str, object] | str | None = None,
    earlier: Frame | Path | str | None = None,
    quasi: Names = (),
    sensitive: Names = (),
    hierarchies: Mapping[str, Path | str] | str | None = None,
    columns: Mapping[str, str] | str | None = None,
    earlier_columns: Mapping[str, str] | str | None = None,
    rules_out: Sequence[str] | str = (),
    base_rates: Sequence[str] | str = (),
    at_most: float | None = None,
    claim: str | None = None,
    victims: int | None = None,
    person: str | None = None,
    title: str | None = None,
    rating: str | None = None,
    date: str | None = None,
    days: int | None = None,
    stars: float | None = None,
    wrong: float | None = None,
    genomes: Frame | Path | str | None = None,
    reference: Frame | Path | str | None = None,
    panel: Frame | Path | str | None = None,
    people: int | None = None,
    epsilon: float | None = None,
    original: Frame | Path | str | None = None,
    engine: str | None = None,
) -> AttackEvaluation:
    """Run every attack that applies to a release: a published file, a `Release`, or a policy's answers.

    Every file may also be a frame. `knows` is what attackers know about people; `victim` is one person, as
    values of columns: `{"name": "Joe"}`, or `"name=Joe"` as on the command line.
    `at_most` is the highest belief that any attack may reach: `broken_bounds` of the result lists those that
    exceed it. The result is for the custodian only.

    A published table needs `quasi` and `sensitive`, or a policy. Ratings need `title`, allele frequencies
    `genomes` and `reference`, a synthetic table `panel`, and answers a policy file as the release.

    >>> attack("release.csv", knows="town.csv", quasi=["zip", "age"], sensitive="disease")  # doctest: +SKIP
    <AttackEvaluation of release.csv: linkage, homogeneity, background knowledge, skewness, ...>
    """
    if isinstance(release, Release):
        return evaluate_release(release, release.policy, at_most=at_most)
    given: dict[str, object] = {
        "release": release,
        "policy": policy,
        "table": table,
        "knows": knows,
        "victim": victim,
        "earlier": earlier,
        "quasi": quasi,
        "sensitive": sensitive,
        "hierarchies": hierarchies or {},
        "columns": columns or {},
        "earlier_columns": earlier_columns or {},
        "rules_out": rules_out,
        "base_rates": base_rates,
        "at_most": at_most,
        "claim": claim,
        "victims": victims,
        "person": person,
        "title": title,
        "rating": rating,
        "date": date,
        "days": days,
        "stars": stars,
        "wrong": wrong,
        "genomes": genomes,
        "reference": reference,
        "panel": panel,
        "people": people,
        "epsilon": epsilon,
        "original": original,
        "engine": engine,
    }
    with write_frames(given) as files:
        return attack_release(AttackRequest.model_validate(files), ignore_progress)


@refuse_invalid_arguments
def audit(
    audited: str | tuple[Sampler, Sampler],
    *,
    policy: Policy | Path | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    runs: int | None = None,
    confidence: float | str = DEFAULT_CONFIDENCE,
    posterior: bool = False,
    session: bool = False,
) -> AuditResult:
    """Return a lower bound on epsilon from many runs on two neighbouring databases; no data is read.

    `audited` is the name of a mechanism, a question in SQL under a policy, or two functions that return as
    many outputs as they are asked for, of a mechanism of your own on two neighbours. With `posterior`, the
    beliefs of simulated attackers are compared with the promise, too. With `session`, the question is asked
    until the budget of the policy is spent, and all answers are audited together.

    >>> audit("discrete-laplace", epsilon=1, runs=20_000).holds
    True
    """
    samplers = None if isinstance(audited, str) else _require_samplers(audited)
    request = make_request(
        AuditRequest,
        audited="two samplers" if samplers else audited,
        epsilon=epsilon,
        delta=delta,
        runs=runs,
        confidence=confidence,
        posterior=posterior,
        session=session,
    )
    if samplers:
        found = audit_epsilon(
            *samplers,
            claimed=1 if request.epsilon is None else request.epsilon,
            delta=0 if request.delta is None else request.delta,
            runs=DEFAULT_RUNS if request.runs is None else request.runs,
            confidence=request.confidence,
        )
        return AuditResult(epsilon_audit=found)
    if isinstance(policy, str | Path):
        policy = load_policy(Path(policy))
    if not isinstance(policy, Policy | None):
        raise InvalidParameterError(f"`policy=` must be a policy or its path; got {shorten_value(policy)}.")
    return run_audit(request, policy)


def _require_samplers(audited: object) -> tuple[Sampler, Sampler]:
    if not (isinstance(audited, Sequence) and len(audited) == 2 and all(map(callable, audited))):
        raise InvalidParameterError(
            "audit: `audited=` must be the name of a mechanism, a question in SQL, or two functions; "
            f"got {shorten_value(audited)}.",
        )
    here, there = audited
    return here, there


def write_sample_data(folder: Path | str = "sample") -> Path:
    """Write tables of made-up people and their policy into a folder; return the path of the policy.

    >>> write_sample_data("sample")  # doctest: +SKIP
    PosixPath('sample/privacy.yaml')
    """
    require_parameter(isinstance(folder, str | Path), "write_sample_data", "folder", folder, "a path")
    try:
        sample.write_samples(Path(folder))
        return sample.write_policy(Path(folder))
    except OSError as error:
        raise RequestError(
            f"write_sample_data: `folder=` cannot be written to: {error.strerror}.",
            hint="Name another folder.",
        ) from None


@refuse_invalid_arguments
def check(
    source: Curator | Policy | Path | str | Frame,
    tables: Sequence[str] | str = (),
    *,
    columns: Columns | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    accept: bool = False,
    despite: bool = False,
) -> DataCheck:
    """Return how the data of a policy fits it: unreadable, clamped, undeclared and missing values.

    For a frame, `columns`, `person` and `rows_per_person` declare it, as in `ask`. It needs no acceptance:
    whoever holds it is its custodian.

    `accept` enters the custodian's acceptance of this version of the data in the ledger, without which no
    analyst of a server is answered; past the policy's `at_most` it takes `despite`.

    >>> check("sample/privacy.yaml", "census").verdict  # doctest: +SKIP
    <Verdict.FITS: 'fits'>
    """
    if is_frame(source):
        if tables or accept or despite:
            raise InvalidParameterError(
                "check: `tables=`, `accept=` and `despite=` are for a policy, and a frame has none.",
                hint="Leave them out; or give the frame to a Curator: `tables={…}`.",
            )
        declared = build_frame_policy(FRAME_NAME, columns, person=person, rows_per_person=rows_per_person)
        held, frames = apply_tables(declared, {FRAME_NAME: source})
        return check_data(held.model_copy(update={"ledger": MEMORY}), frames=read_frames(held, frames))
    FrameTerms(columns=columns, person=person, rows_per_person=rows_per_person).refuse_for_policy()
    if isinstance(source, Curator):
        return source.check(tables, accept=accept, despite=despite)
    if not isinstance(source, Policy | str | Path):
        raise InvalidParameterError(
            f"`source=` must be a curator, a policy or its path, or a frame; got {shorten_value(source)}."
        )
    request = make_check_request(tables, accept=accept, despite=despite)
    return run_check(source if isinstance(source, Policy) else load_policy(Path(source)), request)
