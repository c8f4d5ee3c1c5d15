"""Reference pages generated from the code; `python -m discreet.cli.reference_pages docs/reference` writes.

command-line.md     the help of every command
policy.md           the fields of a policy
policy.schema.json  the same for editors: `# yaml-language-server: $schema=policy.schema.json`
python.md           the public names of `discreet`, with signatures and examples
rooms.svg           the packages and their layers
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.cli.main import COMMAND_GROUPS, COMMANDS, build_app
from discreet.cli.python_reference import GENERATED_NOTICE, generate_python_page
from discreet.core.policy import Policy
from discreet.rendering import package_diagram

Schema = Mapping[str, Any]

HELP_WIDTH = "100"


def generate_pages() -> dict[str, str]:
    """Return every page by its file name."""
    schema = Policy.model_json_schema()
    return {
        "command-line.md": generate_command_page(),
        "policy.md": generate_policy_page(schema),
        "python.md": generate_python_page(),
        "policy.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        "rooms.svg": package_diagram.draw_package_diagram(),
    }


def generate_command_page() -> str:
    """Return the help of every command as Markdown."""
    parts = [
        GENERATED_NOTICE,
        "# Command line",
        "Results go to stdout, everything else to stderr. " + EXIT_CODES,
    ]
    for verb in sorted(COMMANDS | COMMAND_GROUPS):
        parts += [f"## discreet {verb}", _fence_text(_capture_help(verb))]
        parts += [
            f"### discreet {verb} {inner}\n\n{_fence_text(_capture_help(verb, inner))}"
            for inner in _list_subcommands(verb)
        ]
    return "\n\n".join(parts) + "\n"


EXIT_CODES = (
    "Exit codes: 0 done, 1 internal, 2 usage or refused request, 3 budget refused, 4 privacy model not met, "
    "5 engine fault."
)


def generate_policy_page(schema: Schema) -> str:
    """Return the fields of every policy model as Markdown."""
    parts = [
        GENERATED_NOTICE,
        "# Policy",
        "A YAML file. What a command does not need may be left out: `anonymize` needs no promise, `ask` no "
        "hierarchies. [policy.schema.json](policy.schema.json) lets an editor complete and check it.",
        _format_model("The whole", schema, schema["$defs"]),
    ]
    defined = schema["$defs"]
    parts += [_format_model(name, each, defined) for name, each in defined.items() if each.get("properties")]
    return "\n\n".join(parts) + "\n"


def _format_model(name: str, schema: Schema, defined: Schema) -> str:
    required = set(schema.get("required", ()))
    rows = [
        f"| `{field}` | {_describe_type(each, defined)} | {'required' if field in required else _format_default(each)} |"
        for field, each in schema["properties"].items()
    ]
    said = schema.get("description", "").strip().partition("\n\n")[0].replace("\n", " ")
    return "\n".join([f"## {name}", "", said, "", "| field | kind | default |", "|---|---|---|", *rows])


def _describe_type(schema: Schema, defined: Schema) -> str:
    """Return a field's type in a few words."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _describe_type(defined[name], defined) if "enum" in defined[name] else name
    if "anyOf" in schema or "oneOf" in schema:
        found = [_describe_type(each, defined) for each in schema.get("anyOf") or schema["oneOf"]]
        return " or ".join(dict.fromkeys(each for each in found if each != "null"))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_describe_type(schema.get('items', {}), defined)}"
    inner = schema.get("additionalProperties")
    return f"names to {_describe_type(inner, defined)}" if isinstance(inner, Mapping) else kind


def _format_default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value is None or value in ({}, []) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _list_subcommands(verb: str) -> list[str]:
    if verb not in COMMAND_GROUPS:
        return []
    family = build_app([verb]).registered_groups[0].typer_instance
    return sorted(str(each.name) for each in family.registered_commands) if family is not None else []


def _capture_help(*words: str) -> str:
    """Return what --help prints at a fixed width, independent of the terminal."""
    told, width = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = HELP_WIDTH
    try:
        with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
            build_app(words)(args=[*words, "--help"], standalone_mode=False, prog_name="discreet")
    finally:
        os.environ.pop("COLUMNS") if width is None else os.environ.update(COLUMNS=width)
    return told.getvalue()


def _fence_text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def write_pages(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in generate_pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
