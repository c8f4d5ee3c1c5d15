"""`discreet reproduce`: recompute the papers' tables and figures, and compare them with the printed ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.app.commands.options import AsJson
from discreet.app.commands.progress import spinner
from discreet.app.terminal import Console
from discreet.core.errors import RequestError

if TYPE_CHECKING:
    from discreet.papers import Reproduction

ADULT = Path("../shared/data/adult_uci")


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
            help=f"The folder of UCI's adult.data and adult.test; by default {ADULT}, or a made-up census.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="A folder for one HTML page with all tables and charts.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute what the five documents print, and explain the differences."""
    from discreet.app.reproducing import adult_files, view  # deferred: their imports take a second
    from discreet.papers import REPRODUCTIONS, find_reproductions, run_reproduction

    names = tuple(REPRODUCTIONS) if name is None else find_reproductions(name)
    bench = adult_files.bench_of(adult or ADULT, required=adult is not None)
    with spinner() as tell:
        found = []
        for each in names:
            tell(f"recomputing {each}")
            found.append(run_reproduction(each, bench))
        if report is not None:
            tell("drawing")
            _file(found, report)
    if as_json:
        print(json.dumps(view.as_object(found), ensure_ascii=False))
    elif name is None:
        view.show_all(Console(), found)
    else:
        for one in found:
            view.show(Console(), one)


def _file(found: Sequence[Reproduction], folder: Path) -> None:
    from discreet.app.reproducing.report import document

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "reproduction.html").write_text(document(found).as_html(), encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "the system refuses"
        raise RequestError(
            f"reproduce: {folder} cannot be written: {reason}.", hint="Name another folder."
        ) from None
