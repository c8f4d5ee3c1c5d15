"""Help in groups: options stand under the panel that they name, so that a long list reads at 80 columns."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class GroupedHelp(TyperCommand):
    """A command whose help has a heading for each panel of options, in the order of the options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            groups.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)
