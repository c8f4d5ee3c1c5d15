"""`discreet collect`: local differential privacy: randomize answers, estimate from reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.grouped_help import GroupedHelp
from discreet.cli.plot_option import PlotOption, save_plot
from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import JsonOption
from discreet.core.errors import RequestError
from discreet.rendering import collect_view, estimate_view
from discreet.rendering.terminal import Console
from discreet.services.collect.analyse import analyse_operators, load_task, make_mutual_information_example
from discreet.services.collect.collect_requests import (
    DesignRequest,
    EstimateRequest,
    MineRequest,
    RandomizeRequest,
    SurveyRequest,
)
from discreet.services.collect.estimate import estimate_reports, mine_reports
from discreet.services.collect.operators import design_operators, save_operator
from discreet.services.collect.randomize import plan_randomization, randomize_column
from discreet.services.request_fields import COST_PANEL

app = typer.Typer(
    help="Randomize answers at their source; learn their distribution.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command("randomize", short_help="Randomize a column into reports under a promise.", cls=GroupedHelp)
@options_from(RandomizeRequest)
def run_randomize(
    request: RandomizeRequest,
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show the operator and the cost.", rich_help_panel=COST_PANEL)
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Randomize one column into a file of reports, each of which keeps the promise on its own.

    Reports of a policy's table are charged to its promise; --plan shows how much of it they cost.
    """
    if plan:
        _show_plan(request, as_json=as_json)
        return
    with show_progress() as tell:
        tell("randomizing")
        done = randomize_column(request)
    if as_json:
        print(json.dumps(collect_view.randomized_to_json(done)))
    else:
        collect_view.show_randomized(Console(), done)
        _print_written(request.out)


@app.command("estimate", short_help="Estimate shares, a mean or supports from reports.", cls=GroupedHelp)
@options_from(EstimateRequest)
def run_estimate(
    request: EstimateRequest,
    *,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the distribution of answers, their mean, or items' supports from reports, with intervals."""
    with show_progress() as tell:
        tell("counting reports")
        found = estimate_reports(request)
    if plot is not None:
        save_plot(found, plot)
    if as_json:
        objects = [estimate_view.estimate_to_json(each) for each in found]
        print(json.dumps(objects[0] if len(objects) == 1 else {"questions": objects}))
    else:
        estimate_view.show_estimates(Console(), found)
        if plot is not None:
            _print_written(plot)


@app.command("mine", short_help="Frequent itemsets and rules, from reports.", cls=GroupedHelp)
@options_from(MineRequest)
def run_mine(request: MineRequest, *, as_json: JsonOption = False) -> None:
    """Find frequent itemsets and association rules in reports of baskets that chance does not explain."""
    with show_progress() as tell:
        tell("counting itemsets")
        found = mine_reports(request)
    if as_json:
        print(json.dumps(estimate_view.itemsets_to_json(found)))
    else:
        estimate_view.show_itemsets(Console(), found)


@app.command("analyse", short_help="Compute an operator's effect on beliefs.", cls=GroupedHelp)
def run_analyse(
    file: Annotated[Path, typer.Argument(metavar="OPERATOR.yaml", help="One operator, or several.")],
    as_json: JsonOption = False,
) -> None:
    """Compute the effect of reports on beliefs: prior and posterior, gamma, breach bounds, information."""
    task = load_task(file)
    found, warned = analyse_operators(task), make_mutual_information_example()
    if as_json:
        print(json.dumps(collect_view.analysis_to_json(task, found, warned)))
    else:
        collect_view.show_analysis(Console(), task, found, warned)


@app.command("design", short_help="List the best operators for a promise, with errors.", cls=GroupedHelp)
@options_from(DesignRequest)
def run_design(
    request: DesignRequest,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the best operator as an OPERATOR.yaml.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the operators that keep a promise, with the error of the estimates from each."""
    found = design_operators(request)
    if out is not None:
        save_operator(found.designs[0].operator, request.promise, out)
    if as_json:
        print(json.dumps(collect_view.designs_to_json(found, request)))
    else:
        collect_view.show_designs(Console(), found, request)
        if out is not None:
            _print_written(out)


@app.command("survey", short_help="Serve a survey that is randomized in the browser.", cls=GroupedHelp)
@options_from(SurveyRequest)
def run_survey(request: SurveyRequest, *, as_json: JsonOption = False) -> None:
    """Serve a survey whose answers are randomized in the browser before anything is sent."""
    try:
        from discreet.http.survey.survey_server import serve_survey  # optional extra: server
    except ModuleNotFoundError as missing:
        raise RequestError(
            f"A survey needs {missing.name}, which is not installed.",
            hint='Install it with pip install "discreet[server]".',
        ) from None
    serve_survey(request, as_json=as_json)


def _show_plan(request: RandomizeRequest, *, as_json: bool) -> None:
    planned = plan_randomization(request)
    if as_json:
        print(json.dumps(collect_view.randomize_plan_to_json(planned)))
    else:
        collect_view.show_randomize_plan(Console(), planned)


def _print_written(path: Path) -> None:
    Console(stderr=True, soft_wrap=True).print(f"wrote {path}", markup=False, highlight=False)
