"""`discreet demo`: sample data, one private answer, one attack, and the resulting belief."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.options import AsJson
from discreet.app.commands.progress import spinner
from discreet.app.terminal import Console


def run(
    folder: Annotated[Path, typer.Option(help="The folder of the sample tables.")] = Path("sample"),
    as_json: AsJson = False,
) -> None:
    """Show sample data, one private answer, one attack, and what an attacker may now believe."""
    from discreet.app import demo, demo_view  # deferred: its imports take a second

    with spinner() as tell:
        shown = demo.run(folder, progress=tell)
    if as_json:
        print(json.dumps(demo_view.as_object(shown)))
    else:
        demo_view.show(Console(), shown)
