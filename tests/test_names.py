"""Names and docstrings that a reader new to the code understands: verbs and nouns of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "discreet"

PARTICIPLE = re.compile(
    "[a-z]+ed|asked|built|chosen|drawn|found|given|gone|heard|held|hidden|kept|known|laid|lent|lost|made|meant|"
    "met|paid|said|sent|shown|spent|spoken|stood|sworn|taken|taught|thought|told|torn|unpacked|worn|written"
)
NO_VERBS = {
    *(
        "above",
        "after",
        "against",
        "alone",
        "apart",
        "around",
        "as",
        "at",
        "before",
        "below",
        "beside",
        "between",
    ),
    *(
        "beyond",
        "by",
        "here",
        "in",
        "into",
        "of",
        "off",
        "on",
        "once",
        "over",
        "there",
        "through",
        "together",
    ),
    *("under", "upon", "within", "without"),
}
EXCEPTIONS = {
    "embed": "a verb: to embed an image",
    "exceed": "a verb",
    "feed": "a verb: to feed bytes to a parser",
    "need": "a verb and a noun",
    "repeated": "a public attribute of answers, plans and releases, where most of them have it as a field",
    "seed": "a noun of random generators",
    "speed": "a noun",
}
"""Words that look like a participle, each with what it is."""
OPENINGS = re.compile(r"(What|Whether|Who|Whom|Whose|The same)\b")


def definitions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


def is_verb_or_noun(name: str) -> bool:
    word = name.strip("_")
    return word in EXCEPTIONS or not (PARTICIPLE.fullmatch(word) or word in NO_VERBS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *[(name, False) for name in ("told", "_kept", "counted", "of", "once")],
        *[(name, True) for name in ("read", "split", "bound", "seed", "count_rows", "reserve_budget")],
    ],
)
def test_participles_prepositions_and_adverbs_are_no_names(name: str, expected: bool) -> None:
    assert is_verb_or_noun(name) is expected


def test_functions_are_verbs_or_nouns() -> None:
    bad = [
        f"{place} {node.name}"
        for place, node in definitions()
        if not isinstance(node, ast.ClassDef) and not is_verb_or_noun(node.name)
    ]
    assert bad == []


def test_modules_are_verbs_or_nouns() -> None:
    assert [str(path) for path in SOURCE.rglob("*.py") if not is_verb_or_noun(path.stem)] == []


def test_docstrings_say_what_is_returned_or_done() -> None:
    bad = [
        f"{place} {node.name}"
        for place, node in definitions()
        if OPENINGS.match(ast.get_docstring(node) or "")
    ]
    assert bad == []
