"""The reference page of engines; `python -m discreet.engines.engine_reference > docs/reference/engines.md`.

It is made of `ENGINES`. What each engine shows in its conformance suite is a table of docs/scale.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet.engines.engine_registry import ENGINES
from discreet.engines.engine_spec import AddressForm, EngineSpec

INTRODUCTION = """<!-- Generated: python -m discreet.engines.engine_reference > docs/reference/engines.md -->

# Engines

The engine of a policy's tables is its address, as `engine:` in the policy, as `--engine` on the command line
and as `engine=` in Python. [From a laptop to a cluster](../scale.md) says what runs where."""


def generate_engine_page() -> str:
    """Return the page as Markdown."""
    addresses = [
        (_format_examples(form), form.rows, form.sources, _format_requirements(engine, form))
        for engine in ENGINES
        for form in engine.forms
    ]
    limits = [
        (engine.name, engine.time_limit, engine.memory_limit, _describe_store(engine)) for engine in ENGINES
    ]
    parts = [
        INTRODUCTION,
        "## Addresses",
        _format_table(("address", "rows", "sources of tables", "to install"), addresses),
        "## Limits and store",
        _format_table(("engine", "time of a statement", "memory", "`store:` in the policy"), limits),
        "## Columns that cannot name people",
        "People are told apart by the text of their identifier. Refused by name are types in which the "
        "engine calls values equal that are written differently:",
        _format_table(("engine", "types"), [(engine.name, engine.inexact_identifiers) for engine in ENGINES]),
    ]
    return "\n\n".join(parts) + "\n"


def _format_examples(form: AddressForm) -> str:
    return ", ".join(f"`{example}`" for example in form.examples)


def _format_requirements(engine: type[EngineSpec], form: AddressForm) -> str:
    extra = [f"`discreet[{engine.extra}]`"] if engine.extra else []
    return ", ".join([*extra, *([form.requires] if form.requires else [])])


def _describe_store(engine: type[EngineSpec]) -> str:
    example, kind = engine.store_example
    return f"a {kind}, such as `{example}`"


def _format_table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(_format_lines([header, ("---",) * len(header), *rows]))


def _format_lines(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    print(generate_engine_page(), end="")
