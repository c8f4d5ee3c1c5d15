"""Parsing of the options of `discreet anonymize` into a table, a goal and a method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.anonymity.chaining import PERSON, SIGNATURE
from discreet.anonymity.models.parameters import parse_fraction
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms, key_in
from discreet.anonymity.search import OBJECTIVES
from discreet.app.listed import listed
from discreet.app.publishing.anonymizer import Anonymizer, Method
from discreet.app.publishing.releasing import SIGNATURES
from discreet.app.publishing.subjects import Named, Wanted
from discreet.app.publishing.wanted_models import Options, Posterior, models_of
from discreet.core.errors import RequestError
from discreet.core.numbers import parse_probability
from discreet.core.randomness import Randomness
from discreet.engines.publishing import Target

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as typed; its names were checked by `anonymize_validation`."""

    table: str
    policy: Path | None
    models: Options
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


def wanted(request: Request) -> Wanted:
    """Return the requested table, with the columns' roles that options give."""
    return Wanted(
        table=request.table,
        policy=request.policy,
        quasi=listed(request.quasi),
        sensitive=listed(request.sensitive),
        identifiers=tuple(request.pseudonyms),
        hierarchies=dict(_pair("--hierarchy", each) for each in request.hierarchies),
        population=request.population,
        centred=_centred(request),
        engine=request.engine,
    )


def _centred(request: Request) -> Sequence[str]:
    """Return the columns that show a number for each class."""
    if request.method == Method.MICROAGGREGATE:
        return listed(request.quasi)
    return [each.partition("=")[0] for each in request.centres]


def anonymizer(request: Request, named: Named, tell: Tell) -> Anonymizer:
    """Return the anonymizer for a request."""
    models = models_of(request.models, named)
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
        named.policy,
        models=models,
        posterior=None if request.posterior is None else Posterior.of(request.posterior),
        suppress=_share(request.suppress),
        objective=next(each for each in OBJECTIVES if each.name == request.objective),
        method=request.method,
        weights={
            name: float(parse_fraction("--weight", value))
            for name, value in (_pair("--weight", each) for each in request.weights)
        },
        levels=levels_in(request.levels) if request.levels else None,
        centres=dict(_centre(each) for each in request.centres),
        pseudonyms=_pseudonyms(request.pseudonyms, request.key),
        earlier=None if request.chain is None else _signatures(request.chain),
        seconds=request.seconds,
        sampling=None if request.sampling is None else parse_probability("--sampling", request.sampling),
        unit=request.unit,
        population=named.population,
        progress=tell,
    )


def _pair(option: str, text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column or not value:
        raise RequestError(f"{option} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column, value


def levels_in(texts: Sequence[str]) -> dict[str, int]:
    """Parse the level of each column."""
    pairs = [_pair("--level", each) for each in texts]
    wrong = [value for _, value in pairs if not (value.isascii() and value.isdigit() and len(value) < 4)]
    if wrong:
        raise RequestError(
            f"--level must be COLUMN=NUMBER; got {wrong[0]}.", hint="Write --level age=2 or the like."
        )
    return {name: int(value) for name, value in pairs}


def _centre(text: str) -> tuple[str, Centre]:
    column, value = _pair("--centre", text)
    if value not in list(Centre):
        raise RequestError(f"--centre must be COLUMN=mean or COLUMN=median; got {value}.", hint="Name one.")
    return column, Centre(value)


def _pseudonyms(columns: Sequence[str], key: Path | None) -> tuple[Pseudonyms, ...]:
    if not columns and key is None:
        return ()
    if not columns or key is None:
        raise RequestError(
            "--pseudonym COLUMN and --key FILE go together.",
            hint="A key file that does not exist is created, readable by its owner only.",
        )
    secret = key_in(key, Randomness())
    return tuple(Pseudonyms(column=name, key=secret) for name in columns)


def _signatures(path: Path) -> pa.Table:
    """Read the signatures of an earlier release, from their own file or beside the release's."""
    beside = Target.of(path, elsewhere=True).beside(SIGNATURES)
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


def _share(text: str) -> Fraction:
    share = parse_fraction("--suppress", text)
    if share > 1:
        raise RequestError(f"--suppress must be a share such as 2%; got {text}.", hint="Give at most 100%.")
    return share
