"""`discreet train`: train a model under the promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, AnalystOption, EngineOption, JsonOption, PolicyOption
from discreet.core.errors import RequestError
from discreet.core.output_files import require_output, write_output
from discreet.rendering import model_view
from discreet.rendering.terminal import Console
from discreet.services.curator import Curator
from discreet.services.request_fields import OUTPUT_PANEL
from discreet.services.train import TrainRequest, train_private_model


@options_from(TrainRequest)
def run(
    request: TrainRequest,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The model as .json.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = None,
    draw: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The tree as .svg.", rich_help_panel=OUTPUT_PANEL)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model on noisy counts.

    It is charged like a question; repeating it is free.
    """
    _require_ending("--output", output, ".json")
    _require_ending("--draw", draw, ".svg")
    if draw is not None and request.kind in ("forest", "bayes"):
        raise RequestError(
            f"train: a model of the kind {request.kind} is not one tree, and cannot be drawn.",
            hint="Leave --draw out, or train a tree.",
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
