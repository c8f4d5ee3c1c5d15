"""`discreet collect`: local differential privacy: randomize answers, estimate from reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import JsonOption
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_probability
from discreet.rendering import basket_mining_view, collect_view
from discreet.rendering.terminal import Console
from discreet.services.collect import (
    analyse,
    analysis_files,
    basket_mining,
    estimate,
    operator_design,
    randomize,
    yaml_files,
)
from discreet.services.policies import require_engine_address

OptionalText = str | None
ReportsEngine = Annotated[
    OptionalText,
    typer.Option(
        "--engine", help="The engine that counts the reports: duckdb:///FILE, postgresql://…, spark:local."
    ),
]

app = typer.Typer(
    help="Randomize answers at their source; learn their distribution.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command("randomize", short_help="Randomize a column into reports under a promise.")
def run_randomize(
    table: Annotated[str, typer.Argument(help="A file of answers, or a table of the policy.")],
    column: Annotated[
        str, typer.Option(help="The column to randomize: answers, one row a person; or items of baskets.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .parquet file to write the reports to.")],
    promise: Annotated[
        OptionalText, typer.Option(help="prior:posterior, such as 1%:5%; the policy's by default.")
    ] = None,
    values: Annotated[OptionalText, typer.Option(help="The possible answers: a,b,c or 0..100.")] = None,
    values_from: Annotated[
        Path | None, typer.Option("--values-from", help="The possible answers from a file, one a line.")
    ] = None,
    other: Annotated[
        OptionalText, typer.Option(help="The value to report for every answer not listed.")
    ] = None,
    mean: Annotated[bool, typer.Option("--mean", help="Answers are numbers; estimate their mean.")] = False,
    size: Annotated[
        int | None, typer.Option(help="Answers are baskets of items: use at most this many of each.", min=1)
    ] = None,
    basket: Annotated[
        OptionalText,
        typer.Option(help="The column that identifies a row's basket; without it, items are lists."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="The policy that declares the column.")
    ] = None,
    operator: Annotated[
        Path | None, typer.Option(help="An OPERATOR.yaml, instead of the best operator for the promise.")
    ] = None,
    analyst: Annotated[
        OptionalText, typer.Option(help="The analyst whose share of the promise is charged.")
    ] = None,
    engine: Annotated[
        OptionalText,
        typer.Option(
            help="The engine that holds the table, instead of the policy's: postgresql://…, spark:local."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Randomize one column into a file of reports, each of which keeps the promise on its own."""
    wanted = None if promise is None else yaml_files.parse_promise("--promise", promise)
    given, stated = (None, None) if operator is None else yaml_files.load_operator(operator)
    asked = randomize.ClientsRequest(
        table=table,
        column=column,
        policy=policy,
        values=values,
        values_from=values_from,
        other=other,
        mean=mean,
        size=size,
        basket=basket,
        engine=engine,
    )
    found = randomize.find_clients(asked, given)
    description = randomize.describe_randomization(found, given, wanted or stated)
    with show_progress() as tell:
        tell("randomizing")
        done = randomize.randomize_column(found, description, out, analyst=analyst)
    if as_json:
        print(json.dumps(collect_view.randomized_to_json(done)))
    else:
        collect_view.show_randomized(Console(), done)
        _print_written(out)


@app.command("estimate", short_help="Estimate shares, a mean or supports from reports.")
def run_estimate(
    reports: Annotated[
        str, typer.Argument(help="Reports: a .parquet file, the store of a survey, or a table of --engine.")
    ],
    operator: Annotated[
        Path | None, typer.Option(help="An OPERATOR.yaml, for files and tables that do not carry theirs.")
    ] = None,
    engine: ReportsEngine = None,
    question: Annotated[OptionalText, typer.Option(help="One question of a survey; all by default.")] = None,
    confidence: Annotated[str, typer.Option(help="The confidence of each interval.")] = "95%",
    plot: Annotated[Path | None, typer.Option(help="Draw it into a .svg or .png file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the distribution of answers, their mean, or items' supports from reports, with intervals."""
    sure = parse_probability("--confidence", confidence)
    with show_progress() as tell:
        tell("counting reports")
        if engine is None:
            every = estimate.estimate_path(Path(reports), operator, sure)
        else:
            every = estimate.estimate_in_engine(require_engine_address(engine), reports, operator, sure)
        found = estimate.select_question(every, question)
    if plot is not None:
        # only with --plot: an estimate need not wait for the charting library to load
        from discreet.rendering.charts import save_chart
        from discreet.rendering.estimate_chart import draw_estimates

        save_chart(draw_estimates(found), plot)
    if as_json:
        objects = [estimate.estimate_to_json(each) for each in found]
        print(json.dumps(objects[0] if len(objects) == 1 else {"questions": objects}))
    else:
        collect_view.show_estimates(Console(), found)
        if plot is not None:
            _print_written(plot)


@app.command("mine", short_help="Frequent itemsets and rules, from reports.")
def run_mine(
    reports: Annotated[
        str, typer.Argument(help="Reports of baskets: a .parquet file, or a table of --engine.")
    ],
    support: Annotated[
        str, typer.Option(help="Itemsets of at least this share of the baskets are frequent.")
    ],
    strength: Annotated[
        str,
        typer.Option(help="The least share of the baskets with a rule's left side that have its right side."),
    ] = "50%",
    longest: Annotated[int, typer.Option(help="The most items of an itemset.", min=1)] = 3,
    operator: Annotated[
        Path | None, typer.Option(help="An OPERATOR.yaml, for files and tables that do not carry theirs.")
    ] = None,
    engine: ReportsEngine = None,
    confidence: Annotated[str, typer.Option(help="The confidence that all results are correct.")] = "95%",
    as_json: JsonOption = False,
) -> None:
    """Find frequent itemsets and association rules in reports of baskets that chance does not explain."""
    wanted = basket_mining.MiningRequest(
        min_support=parse_probability("--support", support),
        min_strength=parse_probability("--strength", strength),
        max_size=longest,
        confidence=parse_probability("--confidence", confidence),
    )
    with show_progress() as tell:
        tell("counting itemsets")
        if engine is None:
            found = basket_mining.mine_file(Path(reports), operator, wanted)
        else:
            found = basket_mining.mine_in_engine(require_engine_address(engine), reports, operator, wanted)
    if as_json:
        print(json.dumps(basket_mining_view.itemsets_to_json(found)))
    else:
        basket_mining_view.show_itemsets(Console(), found)


@app.command("analyse", short_help="Compute an operator's effect on beliefs.")
def run_analyse(
    file: Annotated[Path, typer.Argument(metavar="OPERATOR.yaml", help="One operator, or several.")],
    as_json: JsonOption = False,
) -> None:
    """Compute the effect of reports on beliefs: prior and posterior, gamma, breach bounds, information."""
    task = analysis_files.load_task(file)
    found, warned = analyse.analyse_operators(task), analyse.make_mutual_information_example()
    if as_json:
        print(json.dumps(collect_view.analysis_to_json(task, found, warned)))
    else:
        collect_view.show_analysis(Console(), task, found, warned)


@app.command("design", short_help="List the best operators for a promise, with errors.")
def run_design(
    promise: Annotated[str, typer.Option(help="prior:posterior, such as 1%:5%.")],
    clients: Annotated[int, typer.Option(help="How many people will answer.", min=1)],
    domain: Annotated[int | None, typer.Option(help="How many values an answer can have.", min=2)] = None,
    mean: Annotated[
        OptionalText, typer.Option(help="For the mean of numbers: their range, such as 0..100.")
    ] = None,
    items: Annotated[int | None, typer.Option(help="For baskets: how many items there are.", min=2)] = None,
    size: Annotated[
        int | None, typer.Option(help="For baskets: how many items of one are used.", min=1)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the best operator as an OPERATOR.yaml.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the operators that keep a promise, with the error of the estimates from each."""
    made = yaml_files.parse_promise("--promise", promise)
    found = operator_design.design_operators(made, clients, domain=domain, mean=mean, items=items, size=size)
    if out is not None:
        yaml_files.save_operator(found.designs[0].operator, made, out)
    if as_json:
        print(json.dumps(collect_view.designs_to_json(found, made, clients)))
    else:
        collect_view.show_designs(Console(), found, made, clients)
        if out is not None:
            _print_written(out)


@app.command("survey", short_help="Serve a survey that is randomized in the browser.")
def run_survey(
    file: Annotated[Path, typer.Argument(metavar="SURVEY.yaml", help="The questions and the promise.")],
    host: Annotated[str, typer.Option(help="The address to listen on; only this machine by default.")] = (
        "127.0.0.1"
    ),
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name that clients use, besides the address; may be repeated."),
    ] = None,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8000,
    as_json: JsonOption = False,
) -> None:
    """Serve a survey whose answers are randomized in the browser before anything is sent."""
    try:
        from discreet.http.survey.survey_server import serve_survey  # optional extra: server
    except ModuleNotFoundError as missing:
        raise RequestError(
            f"A survey needs {missing.name}, which is not installed.",
            hint='Install it with pip install "discreet[server]".',
        ) from None
    serve_survey(file, host, port, names=name or (), as_json=as_json)


def _print_written(path: Path) -> None:
    Console(stderr=True, soft_wrap=True).print(f"wrote {path}", markup=False, highlight=False)
