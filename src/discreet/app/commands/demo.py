"""`discreet demo`: sample data, one private answer, one attack, the belief."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.options import AsJson
from discreet.app.commands.progress import spinner
from discreet.app.terminal import Console


def run(
    folder: Annotated[Path, typer.Option(help="Where the sample tables are kept.")] = Path("sample"),
    as_json: AsJson = False,
) -> None:
    """Sample data, one private answer, one attack, and what may now be believed."""
    from discreet.app import demo, demo_view  # what it needs takes a second to load

    with spinner() as tell:
        shown = demo.run(folder, progress=tell)
    if as_json:
        print(json.dumps(demo_view.as_object(shown)))
    else:
        demo_view.show(Console(), shown)
