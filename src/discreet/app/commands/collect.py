"""`discreet collect`: answers that are randomized at their source, and what is learned from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.progress import spinner
from discreet.app.terminal import Console
from discreet.core.errors import RequestError
from discreet.core.numbers import parse_probability

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Typed = str | None

app = typer.Typer(
    help="Randomize answers at their source; learn their distribution.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command("randomize")
def run_randomize(
    table: Annotated[str, typer.Argument(help="A file of answers, or a table of the policy.")],
    column: Annotated[str, typer.Option(help="The column to randomize: one answer a row, one row a person.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .parquet file that the reports go to.")],
    promise: Annotated[Typed, typer.Option(help="prior:posterior, such as 1%:5%; or the policy's.")] = None,
    values: Annotated[Typed, typer.Option(help="What an answer can be: a,b,c or 0..100.")] = None,
    other: Annotated[Typed, typer.Option(help="The value that stands for every answer not listed.")] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="The policy that declares the column.")
    ] = None,
    operator: Annotated[
        Path | None, typer.Option(help="An OPERATOR.yaml, instead of the best for the promise.")
    ] = None,
    analyst: Annotated[Typed, typer.Option(help="Whose share of the policy's promise is charged.")] = None,
    as_json: Json = False,
) -> None:
    """Randomize one column: a file of reports that keep the promise by themselves."""
    from discreet.app.collect import clients, operators, randomizing, views, yaml_files

    wanted = None if promise is None else yaml_files.parse_promise("--promise", promise)
    given, stated = (None, None) if operator is None else operators.load_operator(operator)
    found = clients.find_clients(table, column, values, policy, other)
    description = randomizing.described(found, given, wanted or stated)
    with spinner() as tell:
        tell("randomizing")
        done = randomizing.randomize(found, description, out, analyst=analyst)
    if as_json:
        print(json.dumps(views.randomized_object(done)))
    else:
        views.show_randomized(Console(), done)
        _wrote(out)


@app.command("estimate")
def run_estimate(
    reports: Annotated[Path, typer.Argument(help="Reports: a .parquet file, or the store of a survey.")],
    operator: Annotated[
        Path | None, typer.Option(help="An OPERATOR.yaml, for files that do not carry theirs.")
    ] = None,
    question: Annotated[Typed, typer.Option(help="One question of a survey; all by default.")] = None,
    confidence: Annotated[str, typer.Option(help="Of each interval.")] = "95%",
    plot: Annotated[Path | None, typer.Option(help="Draw it into a .svg or .png file.")] = None,
    as_json: Json = False,
) -> None:
    """The distribution of the answers, from reports alone, with intervals."""
    from discreet.app.collect import estimating, views

    sure = parse_probability("--confidence", confidence)
    with spinner() as tell:
        tell("counting reports")
        found = estimating.of_question(estimating.estimate_path(reports, operator, sure), question)
    if plot is not None:
        from discreet.app.charts import save  # charts take a second to load
        from discreet.app.collect.chart import estimate_picture

        save(estimate_picture(found), plot)
    if as_json:
        objects = [estimating.as_object(each) for each in found]
        print(json.dumps(objects[0] if len(objects) == 1 else {"questions": objects}))
    else:
        views.show_estimates(Console(), found)
        if plot is not None:
            _wrote(plot)


@app.command("analyse")
def run_analyse(
    file: Annotated[Path, typer.Argument(metavar="OPERATOR.yaml", help="One operator, or several.")],
    as_json: Json = False,
) -> None:
    """What reports do to beliefs: prior and posterior, gamma, bounds on breaches, information."""
    from discreet.app.collect import analysing, analysis_files, views

    task = analysis_files.load_task(file)
    found, warned = analysing.analyse(task), analysing.warning()
    if as_json:
        print(json.dumps(views.analysis_object(task, found, warned)))
    else:
        views.show_analysis(Console(), task, found, warned)


@app.command("design")
def run_design(
    promise: Annotated[str, typer.Option(help="prior:posterior, such as 1%:5%.")],
    domain: Annotated[int, typer.Option(help="How many values an answer can have.")],
    clients: Annotated[int, typer.Option(help="How many people will answer.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the best as an OPERATOR.yaml.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The operators that keep a promise, and how wrong an estimated share will be with each."""
    from discreet.app.collect import operators, views, yaml_files
    from discreet.local.design import design

    made = yaml_files.parse_promise("--promise", promise)
    found = design(made, domain, clients)
    if out is not None:
        operators.save_operator(found[0].operator, made, out)
    if as_json:
        print(json.dumps(views.designs_object(found, made, clients)))
    else:
        views.show_designs(Console(), found, made, clients)
        if out is not None:
            _wrote(out)


@app.command("survey")
def run_survey(
    file: Annotated[Path, typer.Argument(metavar="SURVEY.yaml", help="The questions and the promise.")],
    host: Annotated[str, typer.Option(help="The address to serve on; this machine alone by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8000,
    as_json: Json = False,
) -> None:
    """Serve a survey whose answers are randomized in the browser before anything is sent."""
    try:
        from discreet.app.survey.server import serve
    except ModuleNotFoundError as missing:
        raise RequestError(
            f"A survey needs {missing.name}, which is not installed.",
            hint='Install it with pip install "discreet[server]".',
        ) from None
    serve(file, host, port, as_json=as_json)


def _wrote(path: Path) -> None:
    Console(stderr=True, soft_wrap=True).print(f"wrote {path}", markup=False, highlight=False)
