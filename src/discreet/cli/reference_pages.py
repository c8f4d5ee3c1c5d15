"""Reference pages generated from the code; `python -m discreet.cli.reference_pages docs/reference` writes.

command-line.md     the help of every command
policy.md           the fields of a policy
policy.schema.json  the same for editors: `# yaml-language-server: $schema=policy.schema.json`
python.md           the public names of `discreet`, with signatures and examples
packages.svg        the packages, their layers and the path of a question through them

A layer imports only layers below it; packages of one layer do not import each other. `pyproject.toml` has the
same order, which import-linter enforces; tests/test_architecture.py compares the two.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from discreet.cli.main import COMMAND_GROUPS, COMMANDS, build_app
from discreet.cli.python_reference import GENERATED_NOTICE, generate_python_page
from discreet.core.policy import Policy
from discreet.rendering.charts import BLUE, FAINT, GRAY, GRID_LINE, INK, VERMILLION

Schema = Mapping[str, Any]

HELP_WIDTH = "100"
EXIT_CODES = (
    "Exit codes: 0 done, 1 internal, 2 usage or refused request, 3 budget refused, 4 privacy model not met, "
    "5 engine fault."
)
LAYERS: tuple[dict[str, str], ...] = (
    {"cli": "the command line: parses, calls a service, renders"},
    {"api": "verbs in Python", "http": "routes, web console", "pgwire": "PostgreSQL wire protocol"},
    {"rendering": "tables, reports, charts and JSON of results"},
    {"services": "one module per verb; the curator, users, serving"},
    {"papers": "five documents, recomputed"},
    {"mining": "models, many questions, synthetic tables", "attacks": "what an attacker finds; audits"},
    {"sql": "questions", "anonymity": "published tables", "local": "randomized at the source"},
    {"accounting": "composition of releases; the ledger"},
    {"engines": "where rows are counted", "mechanisms": "noise", "belief": "the promise"},
    {"core": "types that every package shares"},
)
QUERY_PATH_DOWN = {
    "http": "1  parsed",
    "services": "2  the curator",
    "sql": "3  sql plans",
    "accounting": "4  reserved",
    "engines": "5  engines count",
}
QUERY_PATH_UP = {
    "rendering": "8  rendered",
    "accounting": "7  settled",
    "engines": "6  mechanisms add noise",
}
"""The path of a question: down to the rows, and up with the answer."""
LEFT, TOP, LAYERS_WIDTH, LAYER_HEIGHT, GAP = 16, 40, 540, 52, 14
LANE_POSITIONS, FOOT_HEIGHT = (592, 720), 40
DIAGRAM_WIDTH, FONT_FAMILY = 900, "DejaVu Sans, Helvetica, Arial, sans-serif"


def generate_pages() -> dict[str, str]:
    """Return every page by its file name."""
    schema = Policy.model_json_schema()
    return {
        "command-line.md": generate_command_page(),
        "policy.md": generate_policy_page(schema),
        "python.md": generate_python_page(),
        "policy.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        "packages.svg": draw_package_diagram(),
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


def generate_policy_page(schema: Schema) -> str:
    """Return the fields of every policy model as Markdown."""
    parts = [
        GENERATED_NOTICE,
        "# Policy",
        "A YAML file. What a command does not need may be left out: `anonymize` needs no promise, `ask` no "
        "hierarchies. [policy.schema.json](policy.schema.json) lets an editor complete and check it; the "
        "first line of a draft of `discreet init` refers to a copy of it.",
        _format_model("The whole", schema, schema["$defs"]),
    ]
    defined = schema["$defs"]
    parts += [_format_model(name, each, defined) for name, each in defined.items() if each.get("properties")]
    return "\n\n".join(parts) + "\n"


def _format_model(name: str, schema: Schema, defined: Schema) -> str:
    required = set(schema.get("required", ()))
    defaults = {
        field: "required" if field in required else _format_default(each)
        for field, each in schema["properties"].items()
    }
    rows = [
        f"| `{field}` | {_describe_type(each, defined)} | {defaults[field]} | {_describe_field(each)} |"
        for field, each in schema["properties"].items()
    ]
    said = schema.get("description", "").strip().partition("\n\n")[0].replace("\n", " ")
    head = ["| field | kind | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"## {name}", "", said, "", *head, *rows])


def _describe_field(schema: Schema) -> str:
    """Return the meaning of a field, and an example."""
    told = str(schema.get("description", ""))
    examples = [json.dumps(each, ensure_ascii=False) for each in schema.get("examples", ())]
    text = f"{told} Example: `{examples[0]}`." if examples else told
    return text.replace("|", "\\|")


def _describe_type(schema: Schema, defined: Schema) -> str:
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


def draw_package_diagram() -> str:
    """Return the packages as SVG; each is a group with its name as id."""
    height = _get_layer_top(len(LAYERS)) + FOOT_HEIGHT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{DIAGRAM_WIDTH}" height="{height}" '
        f'viewBox="0 0 {DIAGRAM_WIDTH} {height}" role="img" font-family="{FONT_FAMILY}" font-size="12">\n'
        "<title>The packages of discreet, and the path of a question through them</title>\n"
        f'<rect width="{DIAGRAM_WIDTH}" height="{height}" rx="8" fill="white"/>\n'
    )
    return head + "\n".join([*_draw_packages(), *_draw_query_path(), *_draw_legend(height)]) + "\n</svg>\n"


def _get_layer_top(place: int) -> int:
    return TOP + place * (LAYER_HEIGHT + GAP)


def _draw_packages() -> Iterator[str]:
    for place, layer in enumerate(LAYERS):
        width = (LAYERS_WIDTH - GAP * (len(layer) - 1)) // len(layer)
        for column, (name, said) in enumerate(layer.items()):
            x, y = LEFT + column * (width + GAP), _get_layer_top(place)
            yield (
                f'<g id="{name}"><rect x="{x}" y="{y}" width="{width}" height="{LAYER_HEIGHT}" rx="6" '
                f'fill="{GRID_LINE}" stroke="{GRAY}"/>'
                f"{_draw_text(x + width // 2, y + 20, name, weight='bold')}"
                f"{_draw_text(x + width // 2, y + 38, said, size=11)}</g>"
            )


def _draw_query_path() -> Iterator[str]:
    """Yield two lanes beside the packages: down to the rows, and up with the answer."""
    first, last = _get_package_middle("cli"), _get_package_middle("engines")
    for lane, colour, steps, ends in zip(
        LANE_POSITIONS,
        (BLUE, VERMILLION),
        (QUERY_PATH_DOWN, QUERY_PATH_UP),
        ((first, last), (last, first)),
        strict=True,
    ):
        yield _draw_arrow(lane, *ends, colour)
        for room, said in steps.items():
            yield f'<circle cx="{lane}" cy="{_get_package_middle(room)}" r="4" fill="{colour}"/>'
            yield _draw_text(lane + 10, _get_package_middle(room) + 4, said, anchor="start")


def _get_package_middle(package: str) -> int:
    return (
        _get_layer_top(next(place for place, layer in enumerate(LAYERS) if package in layer))
        + LAYER_HEIGHT // 2
    )


def _draw_legend(height: int) -> Iterator[str]:
    yield _draw_text(LEFT, TOP - 16, "A package imports packages below it.", anchor="start", color=FAINT)
    yield _draw_text(LANE_POSITIONS[0] - 4, TOP - 16, "The path of a question", anchor="start", color=FAINT)
    told = "Only services import engines, and only engines import drivers; all others receive an engine."
    yield _draw_text(LEFT, height - 20, told, anchor="start", color=FAINT)


def _draw_arrow(x: int, start: int, end: int, color: str) -> str:
    """Return a line with an arrowhead just before its end."""
    back = -9 if end > start else 9
    tip = end + (-5 if end > start else 5)
    return (
        f'<line x1="{x}" y1="{start}" x2="{x}" y2="{tip + back}" stroke="{color}" stroke-width="2"/>'
        f'<path d="M{x},{tip} l-5,{back} h10 z" fill="{color}"/>'
    )


def _draw_text(
    x: int,
    y: int,
    text: str,
    *,
    anchor: str = "middle",
    color: str = INK,
    size: int = 12,
    weight: str = "normal",
) -> str:
    look = f'text-anchor="{anchor}" fill="{color}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {look}>{escape(text)}</text>'


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
