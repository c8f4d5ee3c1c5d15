"""What `discreet anonymize` does: read the request, find the release, publish it, say what it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import typer
from rich.console import Console

from discreet.anonymity.models.parameters import parse_fraction
from discreet.anonymity.search import OBJECTIVES, Objective
from discreet.app import anonymize_view, attack_view, checking
from discreet.app.anonymize_report import report, write_report
from discreet.app.anonymizer import Anonymizer, Method, Release
from discreet.app.commands.progress import spinner
from discreet.app.release_trial import try_release
from discreet.app.releasing import publish
from discreet.app.subjects import Named, Wanted, resolve
from discreet.app.trial import Trial
from discreet.app.wanted_models import Options, models_of
from discreet.core.errors import RequestError, UnmetError
from discreet.core.numbers import parse_probability

__all__ = ["Options", "Request", "run"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it was typed."""

    table: str
    policy: Path | None
    models: Options
    quasi: str | None = None
    sensitive: str | None = None
    hierarchies: Sequence[str] = ()
    population: str | None = None
    posterior: str | None = None
    suppress: str = "0"
    objective: str = "loss"
    method: str = "generalize"
    weights: Sequence[str] = ()
    unit: str | None = None
    seconds: float | None = None
    output: Path | None = None
    at_most: str | None = None
    earlier: Sequence[Path] = ()
    force: bool = False


def run(request: Request, *, check: bool, minimal: bool, as_json: bool) -> None:
    """Judge the table, list its minimal generalizations, or publish it."""
    named = resolve(_wanted(request))
    if request.unit not in (None, "row"):
        raise RequestError(
            f"--unit is row, or left out; got {request.unit}.", hint="Leave it out to count people."
        )
    if check:
        _check(request, named, as_json=as_json)
    elif minimal:
        with spinner() as tell:
            tell("searching")
            listed = _anonymizer(request, named).minimal(named.name)
        anonymize_view.show_minimal(Console(), listed, as_json=as_json)
    else:
        _publish(request, named, as_json=as_json)


def _publish(request: Request, named: Named, *, as_json: bool) -> None:
    with spinner() as tell:
        release = _anonymizer(request, named, tell).fit(named.name).release
        tell("attacking it")
        trial = _tried(request, release, named)
        trial.refuse(forced=request.force)
        written = []
        if request.output is not None:
            tell("writing")
            document = report(release, trial)  # what can fail comes before anything is published
            written = publish(release, named.policy, request.output, trial=trial)
            written.append(write_report(document, request.output))
    if as_json:
        files = {"files": [str(path) for path in written]}
        print(json.dumps(anonymize_view.as_object(release) | {"trial": attack_view.as_object(trial)} | files))
    else:
        anonymize_view.show(Console(), release, written, trial)


def _tried(request: Request, release: Release, named: Named) -> Trial:
    at_most = None if request.at_most is None else parse_probability("--at-most", request.at_most)
    return try_release(release, named.policy, at_most=at_most, earlier=request.earlier)


def _check(request: Request, named: Named, *, as_json: bool) -> None:
    found = checking.check(named, models_of(request.models, named), unit=request.unit)
    if as_json:
        print(json.dumps(found.as_object()))
    else:
        checking.show(Console(), found)
    if found.holds:
        return
    if as_json:
        raise typer.Exit(UnmetError.exit_code)
    failed = [model.name for model, each in found.verdicts if not each.holds]
    raise UnmetError(f"The table does not meet {' and '.join(failed)}.")


def _anonymizer(request: Request, named: Named, tell: Callable[[str], None] | None = None) -> Anonymizer:
    models = models_of(request.models, named)
    if not models and request.posterior is None:
        raise RequestError("anonymize: no model was asked for.", hint="Begin with -k 5.")
    if request.method not in list(Method):
        raise RequestError(f"There is no method {request.method}.", hint=f"There are {', '.join(Method)}.")
    posterior = request.posterior
    return Anonymizer(
        named.policy,
        models=models,
        posterior=None if posterior is None else parse_probability("--posterior", posterior),
        suppress=_share(request.suppress),
        objective=_objective(request.objective),
        method=request.method,
        weights={
            name: float(parse_fraction("--weight", value))
            for name, value in (_pair("--weight", each) for each in request.weights)
        },
        seconds=request.seconds,
        unit=request.unit,
        population=named.population,
        progress=tell,
    )


def _wanted(request: Request) -> Wanted:
    return Wanted(
        table=request.table,
        policy=request.policy,
        quasi=_names(request.quasi),
        sensitive=_names(request.sensitive),
        hierarchies=dict(_pair("--hierarchy", each) for each in request.hierarchies),
        population=request.population,
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _pair(option: str, text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column or not value:
        raise RequestError(f"{option} must be COLUMN=VALUE; got {text}.", hint="Put = between the two.")
    return column, value


def _share(text: str) -> Fraction:
    share = parse_fraction("--suppress", text)
    if share > 1:
        raise RequestError(f"--suppress must be a share such as 2%; got {text}.", hint="Give at most 100%.")
    return share


def _objective(name: str) -> Objective:
    known = {each.name: each for each in OBJECTIVES}
    if name not in known:
        raise RequestError(f"There is no objective {name}.", hint=f"There are {', '.join(known)}.")
    return known[name]
