"""YAML reader for policies: every entry with its line, every scalar as typed.

Scalars     no type is guessed: `no`, `1e3`, `010` and `2024-01-31` stay text, and the caller, which knows
            what an entry means, parses a number or a date from it.
Open        a bare `?` is a scalar, although YAML itself reads it as the start of a key; so a draft can leave
            entries open that every other YAML reader rejects.
Refused     duplicate names, tags, self-referencing entries, a second document: in one sentence each, with
            file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.resolver import BaseResolver

from discreet.core.errors import RequestError

LARGEST_FILE = 16 * 2**20
LARGEST_TREE = 300_000
PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}

Place = tuple[str | int, ...]


class Word(NamedTuple):
    """A scalar as typed, and whether it was quoted."""

    text: str
    quoted: bool


Tree = Word | list["Tree"] | dict[str, "Tree"]


@dataclass(kw_only=True)
class Document:
    """A file's entries, the line of each, and the problems of its notation."""

    path: Path
    tree: Tree
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[tuple[Place, str]] = field(default_factory=list)

    def line(self, place: Place) -> int:
        """Return the line of an entry, or of the nearest one that encloses it."""
        return next(self.lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in self.lines)

    def at(self, place: Place, text: str) -> str:
        """Return a problem with its file, line and key path."""
        return located(self.path, self.line(place), f"{dotted(place)}: {text}" if place else text)

    def words(self) -> Iterator[tuple[Place, Word]]:
        """Return all scalars with their key paths, in file order."""
        return _words(self.tree, ())


def read(path: Path, what: str = "policy") -> Document:
    """Return the entries of a file, which errors call a `file_type`."""
    hint = WHICH_FILE if what == "policy" else f"docs/collect.md shows how a {what} is written."
    text = _text(path, what, hint)
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise RequestError(_explained(path, error)) from None
    except yaml.YAMLError:
        raise RequestError(f"{path} is not a text file.", hint=hint) from None
    except RecursionError:
        raise RequestError(f"{path} is nested too deeply.", hint=hint) from None
    if node is None:
        raise RequestError(f"{path} is empty.", hint=DRAFT if what == "policy" else hint)
    document = Document(path=path, tree={}, lines={(): 1})
    document.tree = _Reader(document, what).tree(node, (), ())
    return document


def located(path: Path, line: int, text: str) -> str:
    """Return the form that every error about a file has."""
    return f"{path}, line {line}: {text.rstrip('.')}{'' if text.endswith('?') else '.'}"


def dotted(place: Place) -> str:
    """Return a key path as text.

    >>> dotted(("tables", "adult", "values", 2))
    'tables.adult.values[2]'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


DRAFT = "Let `discreet init FILE` write a draft."
WHICH_FILE = "A policy is a YAML file such as `discreet init FILE` writes."

COMPLAINTS = {
    r"character '\\t'": "tabs cannot indent: use spaces",
    r"character '(.)' that cannot start": r"a value that begins with \1 must be quoted",
    r"chomping or indentation": "a value that begins with > or | must be quoted",
    r"mapping values are not allowed|expected <block end>|expected '<document start>'": (
        "this does not fit here: indent entries of one level alike, and quote values that hold a colon"
    ),
    r"could not find expected ':'": "a name without a colon after it: write `name: value`",
    r"expected ',' or": "a bracket that opens must close, with commas between the entries",
    r"but found another document": "a second document begins here: keep one",
    r"expected the node content": 'a value is missing: write it, or "" for the empty text',
    r"undefined alias": "an alias without an anchor: write the entry out",
    r"quoted scalar": "a quote that opens must close",
}


def _explained(path: Path, error: yaml.MarkedYAMLError) -> str:
    said = " ".join(filter(None, (error.context, error.problem)))
    # An unclosed quote or bracket is reported where it opens.
    unended = re.search(r"expected ',' or|quoted scalar", said)
    mark = (error.context_mark if unended else None) or error.problem_mark
    for pattern, complaint in COMPLAINTS.items():
        match = re.search(pattern, said)
        if match:
            return located(path, mark.line + 1 if mark else 1, match.expand(complaint))
    return located(path, mark.line + 1 if mark else 1, f"this is not YAML ({error.problem}): check this line")


def _text(path: Path, what: str, hint: str) -> str:
    try:
        if path.is_file() and path.stat().st_size > LARGEST_FILE:
            raise RequestError(f"{path} is too large to be a {what}.", hint=hint)
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        way_out = "Name one, or let `discreet init FILE` write a draft." if what == "policy" else hint
        raise RequestError(f"There is no {what} {path}.", hint=way_out) from None
    except (OSError, ValueError) as problem:
        if isinstance(problem, UnicodeError):
            raise RequestError(f"{path} is not text in UTF-8.", hint=hint) from None
        reason = getattr(problem, "strerror", None) or "its name is not usable"
        raise RequestError(f"{path} cannot be read ({reason}).", hint="Check the path.") from None


class _Loader(yaml.SafeLoader):
    """PyYAML without type resolution and without explicit keys, so that a lone `?` is a scalar."""

    yaml_implicit_resolvers = BaseResolver.yaml_implicit_resolvers

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._source = text

    def check_key(self) -> bool:
        return False

    def check_plain(self) -> bool:
        return self.peek() == "?" or super().check_plain()

    def scan_plain(self) -> yaml.ScalarToken:
        """Continue a scalar past question marks in brackets, where PyYAML would end it."""
        if not self.flow_level:
            return super().scan_plain()
        start, end = self.get_mark(), self.get_mark()
        while self.peek() not in "\0 \t\r\n\x85\u2028\u2029,[]{}#:":
            if self.peek() == "?":
                self.allow_simple_key = False
                self.forward()
                end = self.get_mark()
                self.scan_plain_spaces(self.indent + 1, start)
            else:
                end = super().scan_plain().end_mark
        text = re.sub(r"\s*[\r\n\x85\u2028\u2029]\s*", " ", self._source[start.index : end.index])
        return yaml.ScalarToken(text, True, start, end)


class _Reader:
    """Builds a tree from YAML nodes; aliases are copied, up to a size limit against billion-laughs files."""

    def __init__(self, document: Document, what: str) -> None:
        self._document, self._what = document, what
        self._count = 0

    def tree(self, node: Node, place: Place, around: tuple[Node, ...]) -> Tree:
        self._count += 1
        if any(node is other for other in around):
            raise RequestError(self._document.at(place, "the entry holds itself: write it out"))
        if self._count > LARGEST_TREE:
            raise RequestError(f"{self._document.path} has too many entries for a {self._what}.")
        if node.tag not in PLAIN_TAGS:
            self._complain(place, f"the tag {node.tag} has no meaning in a {self._what}: leave it out")
        if isinstance(node, ScalarNode):
            return Word(self._whole(node.value, place), node.style is not None)
        if isinstance(node, SequenceNode):
            return self._list(node, place, (*around, node))
        assert isinstance(node, MappingNode)
        return self._mapping(node, place, (*around, node))

    def _list(self, node: SequenceNode, place: Place, around: tuple[Node, ...]) -> Tree:
        items: list[Tree] = []
        for index, item in enumerate(node.value):
            self._document.lines[*place, index] = item.start_mark.line + 1
            items.append(self.tree(item, (*place, index), around))
        return items

    def _mapping(self, node: MappingNode, place: Place, around: tuple[Node, ...]) -> Tree:
        entries: dict[str, Tree] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                self._complain(place, f"a name must be one word; line {line} has a list or a mapping there")
                continue
            name = self._whole(key.value, place)
            inner = (*place, name)
            if name in entries:
                first = self._document.lines[inner]
                self._complain(inner, f"the name appears twice, in lines {first} and {line}: keep one")
                continue
            self._document.lines[inner] = line
            entries[name] = self.tree(value, inner, around)
        return entries

    def _whole(self, text: str, place: Place) -> str:
        """Return the text with escaped surrogate pairs, as JSON writes them, joined into characters."""
        if not re.search("[\ud800-\udfff]", text):
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeError:
            self._complain(place, "holds half of a character: write it out")
            return ""

    def _complain(self, place: Place, text: str) -> None:
        self._document.problems.append((place, text))


def _words(tree: Tree, place: Place) -> Iterator[tuple[Place, Word]]:
    if isinstance(tree, Word):
        yield place, tree
    else:
        entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for name, entry in entries:
            yield from _words(entry, (*place, name))
