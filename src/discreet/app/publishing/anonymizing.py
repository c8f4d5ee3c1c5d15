"""The command `discreet anonymize`: parse the request, find the release, publish and describe it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from discreet.app.commands.progress import spinner
from discreet.app.progress import Tell
from discreet.app.publishers import target_of
from discreet.app.publishing import view as anonymize_view
from discreet.app.publishing.certificates import require_own_certificate, write_certificate
from discreet.app.publishing.counted import Sources
from discreet.app.publishing.door import PRIVATE
from discreet.app.publishing.exposure import warnings
from discreet.app.publishing.options import Request, anonymizer, wanted
from discreet.app.publishing.private_release import PrivateRelease
from discreet.app.publishing.release import Release
from discreet.app.publishing.releasing import publish, tried
from discreet.app.publishing.report import write_report
from discreet.app.publishing.subjects import Named, require_domains, resolve, source_of
from discreet.app.publishing.wanted_models import Options, models_of
from discreet.app.terminal import Console
from discreet.app.trials import view as attack_view
from discreet.app.trials.trial import Trial
from discreet.core.errors import RequestError, UnmetError
from discreet.core.numbers import parse_probability

__all__ = ["Options", "Request", "published", "published_privately", "run"]


def run(request: Request, *, check: bool, minimal: bool, top: int | None, as_json: bool) -> None:
    """Check the table, list generalizations, or publish a release."""
    if sum((check, minimal, top is not None)) > 1:
        raise RequestError("--check, --minimal and --top exclude each other.", hint="Give only one of them.")
    if request.unit not in (None, "row"):
        raise RequestError(f"--unit must be row; got {request.unit}.", hint="Omit it to count people.")
    asked = wanted(request)
    named = resolve(asked)
    if request.output is not None:  # refused before rows are read
        require_own_certificate(target_of(named.policy, request.output))
    _require_no_source(request, named)
    if not check:  # a check generalizes nothing
        require_domains(asked, named.policy.hierarchies)
        _warn(named.remarks)
    if check:
        _check(request, named, as_json=as_json)
    elif minimal or top is not None:
        _list(request, named, top, as_json=as_json)
    elif request.method == PRIVATE:
        _publish_privately(request, named, as_json=as_json)
    else:
        _publish(request, named, as_json=as_json)


def _require_no_source(request: Request, named: Named) -> None:
    """Raise if the output would overwrite another table of the policy."""
    lost = None if request.output is None else source_of(named.policy, request.output)
    if lost not in (None, named.name):
        raise RequestError(
            f"anonymize: {request.output} is the table {lost} of the policy.", hint="Write to another file."
        )


def _sources(named: Named) -> Sources:
    policy = named.policy
    tables = {named.name: policy.tables[named.name]}
    return Sources(tables=tables, frames={}, engine=policy.engine, store=policy.store)


def published(request: Request, named: Named, tell: Tell) -> tuple[Release, Trial, list[Path | str]]:
    """Find the release, attack it, and write it to the requested output."""
    target = None if request.output is None else target_of(named.policy, request.output)
    if target is not None and target.kept:  # refused before a search
        _sources(named).require_elsewhere(target)
    release = anonymizer(request, named, tell).fit(named.name).release
    tell("attacking it")
    at_most = None if request.at_most is None else parse_probability("--at-most", request.at_most)
    trial = tried(release, at_most=at_most, others=request.others, force=request.force)
    if request.output is None:
        return release, trial, []
    tell("writing")
    return release, trial, publish(release, request.output, trial, at_most=at_most, forced=request.force)


def _publish(request: Request, named: Named, *, as_json: bool) -> None:
    with spinner() as tell:
        release, trial, written = published(request, named, tell)
    _warn(release.warnings)
    if as_json:
        files = {"files": [str(path) for path in written]}
        print(json.dumps(anonymize_view.as_object(release) | {"trial": attack_view.as_object(trial)} | files))
    else:
        anonymize_view.show(Console(), release, written, trial)


def published_privately(
    request: Request, named: Named, tell: Tell
) -> tuple[PrivateRelease, list[Path | str]]:
    """Charge, sample and write; the first progress message comes before the charge."""
    from discreet.app.publishing import private_options, private_view  # nothing else here needs them

    if request.output is None:
        raise RequestError(
            "anonymize: a private release is charged when it is made, so it needs an output file.",
            hint="Name a file with -o.",
        )
    target = target_of(named.policy, request.output)
    if target.kept:
        raise RequestError(
            "anonymize: a private release can only be written to a file, not to a table of the engine.",
            hint="Name one that ends in .parquet, .csv or .duckdb.",
        )
    _sources(named).require_elsewhere(target)
    private = private_options.private(request, named, tell)
    tell("counting")
    release = private.fit(named.name).release
    tell("writing")
    release.write(request.output)
    certificate = write_certificate(private_view.certificate(release), target)
    return release, [request.output, certificate, write_report(private_view.report(release), target)]


def _publish_privately(request: Request, named: Named, *, as_json: bool) -> None:
    from discreet.app.publishing import private_view

    with spinner() as tell:
        release, written = published_privately(request, named, tell)
    _warn(warnings(release.table, release.as_they_are))
    if as_json:
        print(json.dumps(private_view.as_object(release) | {"files": [str(path) for path in written]}))
        return
    private_view.show(Console(), release)
    for path in written:
        Console().print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _list(request: Request, named: Named, top: int | None, *, as_json: bool) -> None:
    if request.method == PRIVATE:
        raise RequestError(
            "anonymize: a private release has declared levels, so there is nothing to search.",
            hint="Omit --minimal and --top.",
        )
    from discreet.app.publishing import listed_view  # nothing else here needs it

    with spinner() as tell:
        found = anonymizer(request, named, tell)
        listed = found.minimal(named.name) if top is None else found.best(named.name, top)
    show: Callable[..., None] = listed_view.show_minimal if top is None else listed_view.show_best
    show(Console(), listed, as_json=as_json)


def _check(request: Request, named: Named, *, as_json: bool) -> None:
    from discreet.app.publishing import checking

    found = checking.check(named, models_of(request.models, named), unit=request.unit)
    _warn(
        [
            f"Some rows have no value of {name}. Missing is judged as a value of its own; an attacker who "
            "rules it out has fewer values left."
            for name in found.lacking
        ]
    )
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


def _warn(texts: Sequence[str]) -> None:
    console = Console(stderr=True, soft_wrap=True)
    for text in texts:
        console.print(f"discreet: warning: {text}", markup=False, highlight=False)
