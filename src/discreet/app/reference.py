"""Reference pages generated from the code; `python -m discreet.app.reference docs/reference` writes.

command-line.md     the help of every command
policy.md           the fields of a policy
policy.schema.json  the same for editors: `# yaml-language-server: $schema=policy.schema.json`
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

from discreet.app import rooms
from discreet.app.cli import FAMILIES, VERBS, command_line
from discreet.core.policy import Policy

Schema = Mapping[str, Any]

WIDTH = "100"
GENERATED = "<!-- made by python -m discreet.app.reference docs/reference -->"


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    schema = Policy.model_json_schema()
    return {
        "command-line.md": commands(),
        "policy.md": policy(schema),
        "policy.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        "rooms.svg": rooms.picture(),
    }


def commands() -> str:
    """Return the help of every command as Markdown."""
    parts = [GENERATED, "# Command line", "Results go to stdout, everything else to stderr. " + EXITS]
    for verb in sorted(VERBS | FAMILIES):
        parts += [f"## discreet {verb}", _fenced(_help(verb))]
        parts += [f"### discreet {verb} {inner}\n\n{_fenced(_help(verb, inner))}" for inner in _inner(verb)]
    return "\n\n".join(parts) + "\n"


EXITS = (
    "Exit codes: 0 done, 1 internal, 2 usage or refused request, 3 budget refused, 4 privacy model not met, "
    "5 engine fault."
)


def policy(schema: Schema) -> str:
    """Return the fields of every policy model as Markdown."""
    parts = [
        GENERATED,
        "# Policy",
        "A YAML file. What a command does not need may be left out: `anonymize` needs no promise, `ask` no "
        "hierarchies. [policy.schema.json](policy.schema.json) lets an editor complete and check it.",
        _part("The whole", schema, schema["$defs"]),
    ]
    defined = schema["$defs"]
    parts += [_part(name, each, defined) for name, each in defined.items() if each.get("properties")]
    return "\n\n".join(parts) + "\n"


def _part(name: str, schema: Schema, defined: Schema) -> str:
    required = set(schema.get("required", ()))
    rows = [
        f"| `{field}` | {_kind(each, defined)} | {'required' if field in required else _default(each)} |"
        for field, each in schema["properties"].items()
    ]
    said = schema.get("description", "").strip().partition("\n\n")[0].replace("\n", " ")
    return "\n".join([f"## {name}", "", said, "", "| field | kind | default |", "|---|---|---|", *rows])


def _kind(schema: Schema, defined: Schema) -> str:
    """Return a field's type in a few words."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _kind(defined[name], defined) if "enum" in defined[name] else name
    if "anyOf" in schema or "oneOf" in schema:
        found = [_kind(each, defined) for each in schema.get("anyOf") or schema["oneOf"]]
        return " or ".join(dict.fromkeys(each for each in found if each != "null"))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), defined)}"
    inner = schema.get("additionalProperties")
    return f"names to {_kind(inner, defined)}" if isinstance(inner, Mapping) else kind


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value is None or value in ({}, []) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _inner(verb: str) -> list[str]:
    if verb not in FAMILIES:
        return []
    family = command_line([verb]).registered_groups[0].typer_instance
    return sorted(str(each.name) for each in family.registered_commands) if family is not None else []


def _help(*words: str) -> str:
    """Return what --help prints at a fixed width, independent of the terminal."""
    told, width = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
            command_line(words)(args=[*words, "--help"], standalone_mode=False, prog_name="discreet")
    finally:
        os.environ.pop("COLUMNS") if width is None else os.environ.update(COLUMNS=width)
    return told.getvalue()


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
