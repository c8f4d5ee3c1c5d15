"""From a request of `anonymize` to what runs it: the table, the models, and the anonymizer.

Everything here depends on the request and the policy; no row is read.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.anonymity.hierarchies import Hierarchy, build_column_spec
from discreet.anonymity.models import MeasuredModel
from discreet.anonymity.models.model_option import ModelContext
from discreet.anonymity.recodings.pseudonyms import Pseudonyms, read_or_create_key
from discreet.anonymity.republication import PERSON, SIGNATURE
from discreet.anonymity.search import find_objective
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.services.anonymize.anonymize_request import AnonymizeRequest
from discreet.services.anonymize.anonymizer import Anonymizer, Method
from discreet.services.anonymize.private_generalizer import PrivateGeneralizer
from discreet.services.anonymize.release_publishing import SIGNATURES
from discreet.services.anonymize.table_request import ResolvedTable, TableRequest
from discreet.services.progress import ProgressCallback


def build_table_request(request: AnonymizeRequest) -> TableRequest:
    """Return the requested table, with the columns' roles that options give."""
    # columns that show a number for each class need no hierarchy
    centred = request.quasi if request.method == Method.MICROAGGREGATE else tuple(request.centres)
    return TableRequest(
        table=request.table,
        policy=request.policy,
        quasi=request.quasi,
        sensitive=request.sensitive,
        identifiers=request.pseudonym,
        hierarchies=request.hierarchy,
        population=request.population,
        centred=centred,
        engine=request.engine,
    )


def build_models(request: AnonymizeRequest, resolved: ResolvedTable) -> list[MeasuredModel]:
    """Return every requested model, in the order of `MODELS`."""
    k = getattr(request, "k")  # noqa: B009  (a field that follows from `MODELS`)
    has_population = resolved.population is not None
    context = build_model_context(resolved.policy, resolved.name, k=k, has_population=has_population)
    return [spec.build(context) for spec in request.model_specs]


def build_model_context(policy: Policy, table: str, *, k: int | None, has_population: bool) -> ModelContext:
    """Return what models take from a table of the policy, and from the rest of the request."""
    columns = policy.tables[table].columns if table in policy.tables else {}  # a table that is refused later

    def find_hierarchy(name: str) -> Hierarchy | None:
        if name not in columns:
            return None
        spec = build_column_spec(name, columns[name], policy)
        return spec.build_hierarchy(spec.list_example_values())

    return ModelContext(k=k, has_population=has_population, find_hierarchy=find_hierarchy)


def build_anonymizer(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> Anonymizer:
    """Return the anonymizer for a request."""
    models = build_models(request, resolved)
    if not models and request.posterior is None:
        raise RequestError("anonymize: no privacy model is given.", hint="Start with `k=5`.")
    private_only = [
        option
        for option, value in (
            ("`epsilon=`", request.epsilon),
            ("`delta=`", request.delta),
            ("`analyst=`", request.analyst),
        )
        if value is not None
    ]
    if private_only:
        raise RequestError(
            f'{private_only[0]} needs `method="private"`.', hint='Omit it, or add `method="private"`.'
        )
    return Anonymizer(
        resolved.policy,
        models=models,
        posterior=request.posterior,
        suppress=request.suppress,
        objective=find_objective(request.objective),
        method=request.method,
        weights=request.weights,
        levels=request.levels or None,
        centres=request.centres,
        pseudonyms=_build_pseudonyms(request.pseudonym, request.key),
        earlier=None if request.earlier is None else _read_signatures(request.earlier),
        seconds=request.seconds,
        sampling=request.sampling,
        unit=request.unit,
        population=resolved.population,
        progress=report_progress,
    )


def build_private_generalizer(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> PrivateGeneralizer:
    """Return the generalizer for a private release; raise for options that would have no effect."""
    idle = [
        option
        for option, given in (
            ("a model", bool(request.model_specs) or request.posterior is not None),
            ("`suppress=`", request.suppress != 0),
            ("`objective=`", request.objective != "loss"),
            ("`weights=`", bool(request.weights)),
            ("`centres=`", bool(request.centres)),
            ("`pseudonym=`", bool(request.pseudonym)),
            ("`earlier=`", request.earlier is not None),
            ("`population=`", request.population is not None),
            ("`sampling=`", request.sampling is not None),
            ("`seconds=`", request.seconds is not None),
            ("`unit=`", request.unit is not None),
            ("`at_most=`", request.at_most is not None),
            ("`others=`", bool(request.others)),
            ("`force=`", request.force),
        )
        if given
    ]
    if idle:
        raise RequestError(
            f"anonymize: {idle[0]} has no effect on a private release.",
            hint="It takes `epsilon=`, `delta=` and `levels=` only.",
        )
    if request.epsilon is None or request.delta is None:
        raise RequestError(
            "anonymize: a private release needs an epsilon and a delta.",
            hint="Write `epsilon=1` `delta=1e-6`.",
        )
    return PrivateGeneralizer(
        resolved.policy,
        epsilon=request.epsilon,
        delta=request.delta,
        levels=request.levels,
        analyst=request.analyst,
        progress=report_progress,
    )


def _build_pseudonyms(columns: tuple[str, ...], key: Path | None) -> tuple[Pseudonyms, ...]:
    if not columns and key is None:
        return ()
    if not columns or key is None:
        raise RequestError(
            '`pseudonym="COLUMN"` and `key="FILE"` go together.',
            hint="A key file that does not exist is created, readable by its owner only.",
        )
    secret = read_or_create_key(key, Randomness())
    return tuple(Pseudonyms(column=name, key=secret) for name in columns)


def _read_signatures(path: Path) -> pa.Table:
    """Read the signatures of an earlier release, from their own file or beside the release's."""
    beside = ReleaseTarget.parse(path, allows_engine_names=True).make_companion_path(SIGNATURES)
    file = path if path.name.endswith(SIGNATURES) else beside
    table = None
    with suppress(OSError, pa.ArrowInvalid):
        table = pq.read_table(file)
    if table is None or not {PERSON, SIGNATURE} <= set(table.column_names):
        raise RequestError(
            f"{file} does not hold the signatures of an earlier release.",
            hint="They are written beside a release made with `m_invariance=`.",
        )
    return table
