"""`discreet reproduce`: recompute the papers' tables and figures, and compare them with the printed ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import JsonOption
from discreet.rendering import reproduction_view
from discreet.rendering.reproduction_view import write_reproduction_report
from discreet.rendering.terminal import Console
from discreet.services.reproduce import make_inputs, reproduce_papers

ADULT_FOLDER = Path("../shared/data/adult_uci")


def run(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A table or figure, such as lpb-table-1; or a document: lpb, slides, egm, chapter, lectures."
        ),
    ] = None,
    adult: Annotated[
        Path | None,
        typer.Option(
            envvar="DISCREET_ADULT",
            metavar="FOLDER",
            help=f"The folder of UCI's adult.data and adult.test; by default {ADULT_FOLDER}, or a made-up "
            "census.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A folder for one HTML page with all tables and charts."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute the tables and figures of the five documents.

    Printed and recomputed values are compared, and differences explained.
    """
    inputs = make_inputs(adult or ADULT_FOLDER, required=adult is not None)
    with show_progress() as report_progress:
        found = reproduce_papers(name, inputs, report_progress)
        if report is not None:
            report_progress("drawing")
            write_reproduction_report(found, report)
    if as_json:
        print(json.dumps(reproduction_view.reproductions_to_json(found), ensure_ascii=False))
    elif name is None:
        reproduction_view.print_summary(Console(), found)
    else:
        for one in found:
            reproduction_view.print_reproduction(Console(), one)
