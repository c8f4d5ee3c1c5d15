"""The help of a command: its options under headings, each with one word for its value.

A heading is the panel of an option: that of the request's field (`CommandLine.panel`), or `rich_help_panel`
of an option that is the command's own. Values are named alike everywhere: N, SHARE, FILE, COLUMN, A,B or
ADDRESS.
"""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

from discreet.services.request_fields import OUTPUT_PANEL, POLICY_PANEL

ARGUMENTS, OPTIONS = "Arguments", "Options"
LAST_PANELS = (POLICY_PANEL, OUTPUT_PANEL)
"""Panels that every command ends with, in this order."""
BARE_METAVARS = {"int": "N", "float": "N", "path": "FILE"}
"""The word for a value whose option names none, by its type; TEXT for all others."""


class GroupedHelp(TyperCommand):
    """A command whose help has a heading for each panel of options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            parameter.metavar = parameter.metavar or _choose_metavar(parameter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; a required argument is its plain name."""
        return [re.sub(r"^\{(.*)\}", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        parameters = self.get_params(ctx)
        named = {getattr(each, "rich_help_panel", None) for each in parameters}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(parameter, "rich_help_panel", None)
            if parameter.param_type_name == "argument":
                panel, record = ARGUMENTS, (_name_argument(parameter), record[1])
            elif parameter.name == "help" and OUTPUT_PANEL in named:
                panel = OUTPUT_PANEL
            groups.setdefault(panel or OPTIONS, []).append((record[0], _format_limits(record[1])))
        for heading in sorted(groups, key=_rank_panel):
            with formatter.section(heading):
                formatter.write_dl(groups[heading])


def _rank_panel(heading: str) -> int:
    return LAST_PANELS.index(heading) if heading in LAST_PANELS else -1


def _choose_metavar(parameter: Any) -> str | None:
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    if getattr(parameter, "is_flag", False):
        return None
    kind = parameter.bare_type().removeprefix("list[").removesuffix("]")
    return BARE_METAVARS.get("path" if parameter.type_descriptor.is_path else kind, "TEXT")


def _name_argument(parameter: Any) -> str:
    return f"{parameter.metavar}{'' if parameter.nargs == 1 else '...'}"


def _format_limits(text: str) -> str:
    """Return a help text whose default has no parentheses, and whose range is in words.

    >>> _format_limits("The port.  [default: 8000; 0<=x<=65535]")
    'The port.  [default: 8000; 0 to 65535]'
    >>> _format_limits("How many.  [x>=1]"), _format_limits("The policy.  [default: (privacy.yaml)]")
    ('How many.  [at least 1]', 'The policy.  [default: privacy.yaml]')
    """
    text = re.sub(r"\[default: \((.*?)\)", r"[default: \1", text)
    text = re.sub(r"\b(\d+)<=x<=(\d+)\]", r"\1 to \2]", text)
    return re.sub(r"\bx>=(\d+)", r"at least \1", text)
