"""`discreet demo`: sample data, one private answer, one attack, and the resulting belief."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import JsonOption
from discreet.rendering import demo_view
from discreet.rendering.terminal import Console
from discreet.services import demo


def run(
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the sample tables are written.")
    ] = Path("sample"),
    as_json: JsonOption = False,
) -> None:
    """Show one private answer, one attack and what they reveal.

    The sample data are made up.
    """
    with show_progress() as tell:
        shown = demo.run_demo(folder, progress=tell)
    if as_json:
        print(json.dumps(demo_view.demo_to_json(shown)))
    else:
        demo_view.print_demo(Console(), shown)
