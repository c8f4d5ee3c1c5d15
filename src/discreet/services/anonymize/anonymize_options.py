"""Parsing of the options of `discreet anonymize` into a table, a goal and a method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.anonymity.models.model_parameters import parse_fraction
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms, read_or_create_key
from discreet.anonymity.republication import PERSON, SIGNATURE
from discreet.anonymity.search import OBJECTIVES
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_probability
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.services.anonymize.anonymizer import Anonymizer, Method
from discreet.services.anonymize.model_options import ModelOptions, PosteriorCap, build_models
from discreet.services.anonymize.release_publishing import SIGNATURES
from discreet.services.anonymize.table_request import ResolvedTable, TableRequest
from discreet.services.name_lists import split_names

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class AnonymizeRequest:
    """A request as typed; its names were checked by `anonymize_validation`."""

    table: str
    policy: Path | None
    models: ModelOptions
    quasi: str | None = None
    sensitive: str | None = None
    hierarchies: Sequence[str] = ()
    population: str | None = None
    sampling: str | None = None
    posterior: str | None = None
    suppress: str = "0"
    objective: str = "loss"
    method: str = "generalize"
    weights: Sequence[str] = ()
    levels: Sequence[str] = ()
    centres: Sequence[str] = ()
    pseudonyms: Sequence[str] = ()
    key: Path | None = None
    chain: Path | None = None
    epsilon: float | None = None
    delta: float | None = None
    analyst: str | None = None
    unit: str | None = None
    seconds: float | None = None
    output: str | None = None
    at_most: str | None = None
    others: Sequence[str] = ()
    force: bool = False
    engine: str | None = None


def build_table_request(request: AnonymizeRequest) -> TableRequest:
    """Return the requested table, with the columns' roles that options give."""
    return TableRequest(
        table=request.table,
        policy=request.policy,
        quasi=split_names(request.quasi),
        sensitive=split_names(request.sensitive),
        identifiers=tuple(request.pseudonyms),
        hierarchies=dict(_parse_pair("--hierarchy", each) for each in request.hierarchies),
        population=request.population,
        centred=_list_centred_columns(request),
        engine=request.engine,
    )


def _list_centred_columns(request: AnonymizeRequest) -> Sequence[str]:
    """Return the columns that show a number for each class."""
    if request.method == Method.MICROAGGREGATE:
        return split_names(request.quasi)
    return [each.partition("=")[0] for each in request.centres]


def build_anonymizer(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> Anonymizer:
    """Return the anonymizer for a request."""
    models = build_models(request.models, resolved)
    if not models and request.posterior is None:
        raise RequestError("anonymize: no privacy model is given.", hint="Start with -k 5.")
    private_only = [
        option
        for option, value in (
            ("--epsilon", request.epsilon),
            ("--delta", request.delta),
            ("--analyst", request.analyst),
        )
        if value is not None
    ]
    if private_only:
        raise RequestError(
            f"{private_only[0]} needs --method private.", hint="Omit it, or add --method private."
        )
    return Anonymizer(
        resolved.policy,
        models=models,
        posterior=None if request.posterior is None else PosteriorCap.parse(request.posterior),
        suppress=_parse_share(request.suppress),
        objective=next(each for each in OBJECTIVES if each.name == request.objective),
        method=request.method,
        weights={
            name: float(parse_fraction("--weight", value))
            for name, value in (_parse_pair("--weight", each) for each in request.weights)
        },
        levels=parse_levels(request.levels) if request.levels else None,
        centres=dict(_parse_centre(each) for each in request.centres),
        pseudonyms=_build_pseudonyms(request.pseudonyms, request.key),
        earlier=None if request.chain is None else _read_signatures(request.chain),
        seconds=request.seconds,
        sampling=None if request.sampling is None else parse_probability("--sampling", request.sampling),
        unit=request.unit,
        population=resolved.population,
        progress=report_progress,
    )


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column or not value:
        raise RequestError(f"{option} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column, value


def parse_levels(texts: Sequence[str]) -> dict[str, int]:
    """Parse the level of each column."""
    pairs = [_parse_pair("--level", each) for each in texts]
    wrong = [value for _, value in pairs if not (value.isascii() and value.isdigit() and len(value) < 4)]
    if wrong:
        raise RequestError(
            f"--level must be COLUMN=NUMBER; got {wrong[0]}.", hint="Write --level age=2 or the like."
        )
    return {name: int(value) for name, value in pairs}


def _parse_centre(text: str) -> tuple[str, Centre]:
    column, value = _parse_pair("--centre", text)
    if value not in list(Centre):
        raise RequestError(f"--centre must be COLUMN=mean or COLUMN=median; got {value}.", hint="Name one.")
    return column, Centre(value)


def _build_pseudonyms(columns: Sequence[str], key: Path | None) -> tuple[Pseudonyms, ...]:
    if not columns and key is None:
        return ()
    if not columns or key is None:
        raise RequestError(
            "--pseudonym COLUMN and --key FILE go together.",
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
            hint="They are written beside a release made with --m-invariance.",
        )
    return table


def _parse_share(text: str) -> Fraction:
    share = parse_fraction("--suppress", text)
    if share > 1:
        raise RequestError(f"--suppress must be a share such as 2%; got {text}.", hint="Give at most 100%.")
    return share
