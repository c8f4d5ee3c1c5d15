"""`discreet anonymize`: publish a table that is hard to link, or judge one that is there."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from discreet.anonymity.models import Measured
from discreet.anonymity.models.parameters import parse_fraction
from discreet.anonymity.search import OBJECTIVES, Objective
from discreet.app import anonymize_view, checking
from discreet.app.anonymize_report import write_report
from discreet.app.anonymizer import Anonymizer, Method
from discreet.app.commands.progress import spinner
from discreet.app.releasing import enter, published
from discreet.app.subjects import Named, Wanted, resolve
from discreet.app.wanted_models import Options, models_of
from discreet.core.errors import RequestError, UnmetError
from discreet.core.numbers import parse_probability

POLICY = Path("privacy.yaml")
Texts = list[str] | None


def run(
    table: Annotated[str, typer.Argument(help="A table of the policy, or a file.")],
    policy: Annotated[Path | None, typer.Option("--policy", "-p", help="The custodian's policy.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="k-anonymity: at least k in every class.")] = None,
    l_diversity: Annotated[
        Texts, typer.Option(help="COLUMN:2:distinct|probabilistic|entropy, or COLUMN:3:recursive:4 (l, c).")
    ] = None,
    t_closeness: Annotated[Texts, typer.Option(help="COLUMN:0.2:equal|ordered|hierarchical.")] = None,
    delta_presence: Annotated[str | None, typer.Option(help="0.05:0.15, with --population.")] = None,
    k_map: Annotated[int | None, typer.Option(help="k of the population in every class.")] = None,
    alpha: Annotated[Texts, typer.Option(help="COLUMN:0.5: no value above this share of a class.")] = None,
    delta_disclosure: Annotated[Texts, typer.Option(help="COLUMN:1.")] = None,
    beta_likeness: Annotated[Texts, typer.Option(help="COLUMN:2.")] = None,
    risk: Annotated[Texts, typer.Option(help="prosecutor:0.2, or average:journalist:0.05.")] = None,
    posterior: Annotated[
        str | None, typer.Option(help="What may be believed of a sensitive value at most, such as 20%.")
    ] = None,
    population: Annotated[str | None, typer.Option(help="A table or file of everybody.")] = None,
    suppress: Annotated[str, typer.Option(help="The most that may be left out, such as 2%.")] = "0",
    objective: Annotated[str, typer.Option(help="|".join(each.name for each in OBJECTIVES) + ".")] = "loss",
    method: Annotated[Method, typer.Option(help="How values are made coarser.")] = Method.GENERALIZE,
    weight: Annotated[Texts, typer.Option(help="COLUMN=2: what it loses counts double.")] = None,
    quasi: Annotated[str | None, typer.Option(help="Quasi-identifiers of a file: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Sensitive columns of a file: a,b.")] = None,
    hierarchy: Annotated[Texts, typer.Option(help="COLUMN=FILE, in ARX's format.")] = None,
    unit: Annotated[str | None, typer.Option(help="row: count rows even where people have several.")] = None,
    seconds: Annotated[float | None, typer.Option(help="The most time to search.")] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="List all minimal generalizations.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Judge the table as it is.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help=".parquet, .csv or .duckdb.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Publish a table that is provably hard to link, with its certificate."""
    named = resolve(
        Wanted(
            table=table,
            policy=policy or (POLICY if POLICY.is_file() else None),
            quasi=_names(quasi),
            sensitive=_names(sensitive),
            hierarchies=dict(_pair("--hierarchy", each) for each in hierarchy or ()),
            population=population,
        )
    )
    options = Options(
        k=k,
        l_diversity=l_diversity or (),
        t_closeness=t_closeness or (),
        delta_presence=delta_presence,
        k_map=k_map,
        alpha=alpha or (),
        delta_disclosure=delta_disclosure or (),
        beta_likeness=beta_likeness or (),
        risk=risk or (),
    )
    models = models_of(options, named)
    if unit not in (None, "row"):
        raise RequestError(f"--unit is row, or left out; got {unit}.", hint="Leave it out to count people.")
    if check:
        _check(named, models, unit=unit, as_json=as_json)
        return
    if not models and posterior is None:
        raise RequestError("anonymize: no model was asked for.", hint="Begin with -k 5.")
    with spinner() as tell:
        anonymizer = Anonymizer(
            named.policy,
            models=models,
            posterior=None if posterior is None else parse_probability("--posterior", posterior),
            suppress=_share(suppress),
            objective=_objective(objective),
            method=method,
            weights={name: _weight(value) for name, value in (_pair("--weight", w) for w in weight or ())},
            seconds=seconds,
            unit=unit,
            population=named.population,
            progress=tell,
        )
        if minimal:
            listed = anonymizer.minimal(named.name)
        else:
            release = anonymizer.fit(named.name).release
            tell("writing")
            written = [] if output is None else published(release, output)
    console = Console()
    if minimal:
        anonymize_view.show_minimal(console, listed, as_json=as_json)
        return
    if output is not None:
        written.append(write_report(release, output))
        enter(release, named.policy, output)
    if as_json:
        files = {"files": [str(path) for path in written]}
        print(json.dumps(anonymize_view.as_object(release) | files))
    else:
        anonymize_view.show(console, release, written)


def _check(named: Named, models: list[Measured], *, unit: str | None, as_json: bool) -> None:
    found = checking.check(named, models, unit=unit)
    if as_json:
        print(json.dumps(found.as_object()))
    else:
        checking.show(Console(), found)
    if not found.holds:
        failed = [model.name for model, each in found.verdicts if not each.holds]
        if as_json:
            raise typer.Exit(UnmetError.exit_code)
        raise UnmetError(f"The table does not meet {' and '.join(failed)}.")


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


def _weight(text: str) -> float:
    return float(parse_fraction("--weight", text))


def _objective(name: str) -> Objective:
    known = {each.name: each for each in OBJECTIVES}
    if name not in known:
        raise RequestError(f"There is no objective {name}.", hint=f"There are {', '.join(known)}.")
    return known[name]
