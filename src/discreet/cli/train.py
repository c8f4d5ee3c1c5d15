"""`discreet train`: train a model under the promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import DEFAULT_POLICY, AnalystOption, EngineOption, JsonOption, PolicyOption
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number
from discreet.core.output_files import require_output, write_output
from discreet.rendering import model_view
from discreet.rendering.terminal import Console
from discreet.services.curator import Curator
from discreet.services.request_fields import split_names
from discreet.services.train import TrainRequest, train_private_model


def run(
    kind: Annotated[str, typer.Argument(help="tree, forest, bayes or regression.")],
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    epsilon: Annotated[str | None, typer.Option(help="The epsilon that the model may cost.")] = None,
    delta: Annotated[str, typer.Option(help="For a forest, if the promise has a tail.")] = "0",
    features: Annotated[
        str | None, typer.Option(help="Columns to learn from: a,b,c; all by default.")
    ] = None,
    log: Annotated[str | None, typer.Option(help="Columns to divide on a log scale: a,b.")] = None,
    depth: Annotated[
        int | None, typer.Option(help="The depth of a tree; by default, chosen from the rows and epsilon.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option(help="For a tree: gini|max|gain, the score of splits; gini by default.")
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(help="For a tree: exponential|permute-and-flip|laplace, the selection of splits."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The model as .json.")] = None,
    draw: Annotated[Path | None, typer.Option(help="The tree as .svg.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model on noisy counts, charged like a question; repeating it is free."""
    _require_ending("--output", output, ".json")
    _require_ending("--draw", draw, ".svg")
    if draw is not None and kind in ("forest", "bayes"):
        raise RequestError(f"A {kind} is not one tree to draw.", hint="Leave --draw out, or train a tree.")
    request = TrainRequest(
        kind=kind,
        table=table,
        target=target,
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        delta=parse_number("--delta", delta),
        features=split_names(features) or None,
        logarithmic=split_names(log),
        depth=depth,
        criterion=criterion,
        selection=selection,
    )
    with (
        show_progress() as tell,
        Curator.open(policy, analyst=analyst, engine=engine, progress=tell) as curator,
    ):
        tell("learning")
        trained = train_private_model(curator, request, tell)
    written = [path for path in (output, draw) if path is not None]
    if output is not None:
        write_output(output, trained.model_json)
    if draw is not None:
        write_output(draw, model_view.draw_model(trained))
    if as_json:
        print(json.dumps(model_view.model_to_json(trained, written)))
    else:
        model_view.print_model(Console(), trained, written)


def _require_ending(option: str, path: Path | None, ending: str) -> None:
    if path is not None and (path.suffix.lower() != ending or not path.absolute().parent.is_dir()):
        raise RequestError(
            f"{option} must be a {ending} file in an existing folder; got {path}.", hint="Name another."
        )
    if path is not None:
        require_output(path)
