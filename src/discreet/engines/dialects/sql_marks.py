"""SQL marks: the intended structure of a text, kept in the text itself.

Texts are joined from expressions. Where an expression binds less tightly than its neighbour, or a name or a
constant is quoted in a way that the engine reads differently, the text means something else than its parts.
So each expression is enclosed in two marks, and each name and constant follows its own value in hexadecimal.
The text that runs has no marks (`remove_marks`). The intended SQL has every expression in parentheses and a
placeholder for every name and constant (`write_intended_sql`), so that neither can go wrong.
`statement_verification` compares the two.

The marks are characters that Unicode reserves for internal use; text that contains one is refused.

Argument binding: give a name to an argument that a form uses several times, so that it is computed once.

A form that writes its argument twice doubles the text at every level of nesting. So a long argument is bound
to a name, in the engine's own way. A short one is repeated, which runs faster and adds a constant length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.engines.dialects.dialect import Dialect, raise_unsupported

BEGIN, END = "\ufdd0", "\ufdd1"
LEAF, SAYS, DONE = "\ufdd2", "\ufdd3", "\ufdd4"
PLACE = "\ufdd5"
MARKS = re.compile("[\ufdd0-\ufdd5]")
REMOVED_MARKS = re.compile(f"{LEAF}[nt][0-9a-f]*{SAYS}|[{BEGIN}{END}{DONE}]")
SCANNED = re.compile(rf"""'(?:[^'\\]|\\.)*'|"[^"]*"|`[^`]*`|[(){BEGIN}{END}]""", re.S)
WORD, CALL = re.compile(rf"""[\w.'"`{PLACE}]+"""), re.compile(rf"\w*[({BEGIN}]")
BRACKETS = {BEGIN: "(", END: ")"}
LEAVES = re.compile(f"{LEAF}([nt])([0-9a-f]*){SAYS}[^{DONE}]*{DONE}")


def mark_expression(text: str) -> str:
    """Enclose an expression in marks."""
    return f"{BEGIN}{text}{END}"


def strip_outer_marks(text: str) -> str:
    """Remove an expression's outer marks, to append to it, as FILTER to an aggregate."""
    return text.removeprefix(BEGIN).removesuffix(END)


def mark_name(name: str, dialect: Dialect) -> str:
    """Return a quoted name after its mark."""
    _require_unmarked(name, dialect)
    return _mark_leaf("n", dialect.shorten_identifier(name), dialect.quote_identifier(name))


def mark_text(value: str, dialect: Dialect) -> str:
    """Return a quoted text constant after its mark."""
    _require_unmarked(value, dialect)
    return _mark_leaf("t", value, dialect.quote_literal(value))


def _require_unmarked(value: str, dialect: Dialect) -> None:
    if MARKS.search(value):
        raise_unsupported(dialect.name, "text with a character that Unicode reserves for internal use")


def _mark_leaf(kind: str, value: str, written: str) -> str:
    return f"{LEAF}{kind}{value.encode(errors='surrogatepass').hex()}{SAYS}{written}{DONE}"


def remove_marks(text: str) -> str:
    """Return the text that runs, without marks.

    >>> from discreet.engines.dialects.postgres_dialect import PostgresDialect
    >>> remove_marks(mark_expression(mark_text("it's", PostgresDialect())))
    "'it''s'"
    """
    return REMOVED_MARKS.sub("", text)


@dataclass(frozen=True, kw_only=True)
class IntendedSql:
    """Fully parenthesized SQL with placeholders, and the values of the placeholders."""

    text: str
    values: tuple[str, ...]

    def resolve_placeholder(self, word: str) -> str:
        """Return the value of a placeholder; other words are returned unchanged."""
        return self.values[int(word[1:])] if word.startswith(PLACE) else word


def write_intended_sql(text: str, dialect: Dialect) -> IntendedSql:
    """Return the intended SQL of a marked text."""
    values: list[str] = []

    def replace_leaf(found: re.Match[str]) -> str:
        values.append(bytes.fromhex(found[2]).decode(errors="surrogatepass"))
        word = f"{PLACE}{len(values) - 1}"
        return dialect.quote_identifier(word) if found[1] == "n" else dialect.quote_literal(word)

    return IntendedSql(text=_add_parentheses(LEAVES.sub(replace_leaf, text)), values=tuple(values))


def _add_parentheses(text: str) -> str:
    """Put each expression in parentheses, unless it is one word, one call, or has its own."""
    begun: list[tuple[int, int]] = []
    ends: list[int] = []
    left_out: set[int] = set()
    for found in SCANNED.finditer(text):
        at, sign = found.start(), found[0]
        if sign in (BEGIN, "("):
            begun.append((at, len(ends)))
        elif sign in (END, ")"):
            start, before = begun.pop()
            inside = len(ends) - before
            alone = inside == 0 and WORD.fullmatch(text, start + 1, at)
            closed = inside == 1 and ends[-1] == at - 1 and CALL.match(text, start + 1)
            if sign == END and (alone or closed):
                left_out |= {start, at}
            del ends[before:]
            ends.append(at)
    return "".join("" if at in left_out else BRACKETS.get(sign, sign) for at, sign in enumerate(text))


MAX_REPEATED_LENGTH = 80
AGGREGATE_OR_WINDOW = re.compile(
    r"\b(bit_or|bool_and|bool_or|count|dense_rank|first_value|grouping|max|min|row_number|sum)\s*\(|\bOVER\b",
    re.I,
)


def are_short(parts: Sequence[str]) -> bool:
    """Return whether each part is short enough to be repeated."""
    return all(len(remove_marks(part)) <= MAX_REPEATED_LENGTH for part in parts)


def have_aggregates(parts: Sequence[str]) -> bool:
    """Return whether a part has an aggregate or a window, which must stay in the SELECT of its rows."""
    return any(AGGREGATE_OR_WINDOW.search(part) for part in parts)


def fill_template(template: str, part: str, bind: Callable[..., str]) -> str:
    """Return a template with its argument {x}, bound to a name if it is used more than once."""
    if template.count("{x}") == 1:
        return template.replace("{x}", part)
    return bind(lambda x: template.replace("{x}", x), part)
