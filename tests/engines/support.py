"""What each engine does, as the suite shows it: the table of docs/scale.md.

A test says by `shows` what it shows of every engine that it runs on, and what one of them cannot do; there it
is expected to fail, strictly. So in a suite that passes, the table is its outcome.

To write it anew: python -m tests.engines.support
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import pytest

from discreet.engines import engine_registry

GUIDE = Path(__file__).parents[2] / "docs" / "scale.md"
ENGINES = {engine.schemes[0]: engine.name for engine in engine_registry.ENGINES}
FIXTURES = {engine.extra: engine.schemes[0] for engine in engine_registry.ENGINES if not engine.is_embedded}
"""The fixture of an engine's server, named as its extra, and the engine."""
PLACE = re.compile(r"(<!-- support -->\n).*(<!-- /support -->)", re.S)
Test = TypeVar("Test", bound=Callable[..., None])


def shows(what: str, cannot: Mapping[str, str] | None = None) -> Callable[[Test], Test]:
    """What a test shows of each engine; `cannot` says why it does not of one."""
    return pytest.mark.shows(what=what, cannot=dict(cannot or {}))


def expect_failures(items: list[pytest.Item]) -> None:
    """Mark the tests of what an engine cannot do."""
    for item in items:
        mark, call = item.get_closest_marker("shows"), getattr(item, "callspec", None)
        if mark is not None and call is not None:
            reason = mark.kwargs["cannot"].get(FIXTURES.get(call.params.get("server"), ""))
            if reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def shown() -> Iterator[tuple[str, Mapping[str, str]]]:
    """What the tests of this folder show, and what not."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for test in vars(import_module(f"tests.engines.{path.stem}")).values():
            marks: Any = getattr(test, "pytestmark", []) if callable(test) else []
            yield from (
                (mark.kwargs["what"], mark.kwargs["cannot"]) for mark in marks if mark.name == "shows"
            )


def table() -> str:
    lines = [f"| | {' | '.join(ENGINES.values())} |", "|---" * (1 + len(ENGINES)) + "|"]
    for what, cannot in shown():
        cells = [f"no: {cannot[engine]}" if engine in cannot else "yes" for engine in ENGINES]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def guide(text: str) -> str:
    """The guide with the table in its place."""
    return PLACE.sub(lambda found: found[1] + table() + found[2], text)


if __name__ == "__main__":
    GUIDE.write_text(guide(GUIDE.read_text()))
