"""YAML reader for policies: every entry with its line, every scalar as typed.

Scalars     no type is guessed: `no`, `1e3`, `010` and `2024-01-31` stay text, and the caller, which knows
            what an entry means, parses a number or a date from it.
Open        a bare `?` is a scalar, although YAML itself reads it as the start of a key; so a draft can leave
            entries open that every other YAML reader rejects.
Refused     duplicate names, tags, self-referencing entries, a second document: in one sentence each, with
            file and line.

PyYAML's nodes have the line of every entry. ruamel.yaml (0.19.1) has them too, but like PyYAML rejects a bare
`?` after a colon and reads `[?]` as a mapping, so the scanner would be overridden in the same places.
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

MAX_FILE_BYTES = 16 * 2**20
MAX_ENTRIES = 300_000
PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}

KeyPath = tuple[str | int, ...]


class Scalar(NamedTuple):
    """A scalar as typed, and whether it was quoted."""

    text: str
    is_quoted: bool


YamlTree = Scalar | list["YamlTree"] | dict[str, "YamlTree"]


@dataclass(kw_only=True)
class YamlDocument:
    """A file's entries, the line of each, and the problems of its notation."""

    path: Path
    tree: YamlTree
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[tuple[KeyPath, str]] = field(default_factory=list)

    def find_line(self, place: KeyPath) -> int:
        """Return the line of an entry, or of the nearest one that encloses it."""
        return next(self.lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in self.lines)

    def format_problem(self, place: KeyPath, text: str) -> str:
        """Return a problem with its file, line and key path."""
        return format_located_error(
            self.path, self.find_line(place), f"{format_key_path(place)}: {text}" if place else text
        )

    def iterate_scalars(self) -> Iterator[tuple[KeyPath, Scalar]]:
        """Return all scalars with their key paths, in file order."""
        return _iterate_scalars(self.tree, ())


def read_yaml(path: Path, file_type: str = "policy") -> YamlDocument:
    """Return the entries of a file, which errors call a `file_type`."""
    hint = FILE_HINT if file_type == "policy" else f"docs/collect.md shows how a {file_type} is written."
    text = _read_text(path, file_type, hint)
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise RequestError(_explain_error(path, error)) from None
    except yaml.YAMLError:
        raise RequestError(f"{path} is not a text file.", hint=hint) from None
    except RecursionError:
        raise RequestError(f"{path} is nested too deeply.", hint=hint) from None
    if node is None:
        raise RequestError(f"{path} is empty.", hint=DRAFT_HINT if file_type == "policy" else hint)
    document = YamlDocument(path=path, tree={}, lines={(): 1})
    document.tree = _TreeBuilder(document, file_type).build_tree(node, (), ())
    return document


def parse_nodes(text: str) -> Node | None:
    """Return the nodes of a text that `read_yaml` accepts, each with its place in it."""
    return _Loader(text).get_single_node()


def format_located_error(path: Path, line: int, text: str) -> str:
    """Return the form that every error about a file has."""
    return f"{path}, line {line}: {text.rstrip('.')}{'' if text.endswith('?') else '.'}"


def format_key_path(place: KeyPath) -> str:
    """Return a key path as text.

    >>> format_key_path(("tables", "adult", "values", 2))
    'tables.adult.values[2]'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


DRAFT_HINT = "Let `discreet init FILE` write a draft."
FILE_HINT = "A policy is a YAML file such as `discreet init FILE` writes."

EXPLANATIONS = {
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


def _explain_error(path: Path, error: yaml.MarkedYAMLError) -> str:
    said = " ".join(filter(None, (error.context, error.problem)))
    # An unclosed quote or bracket is reported where it opens.
    unended = re.search(r"expected ',' or|quoted scalar", said)
    mark = (error.context_mark if unended else None) or error.problem_mark
    for pattern, complaint in EXPLANATIONS.items():
        match = re.search(pattern, said)
        if match:
            return format_located_error(path, mark.line + 1 if mark else 1, match.expand(complaint))
    return format_located_error(
        path, mark.line + 1 if mark else 1, f"this is not YAML ({error.problem}): check this line"
    )


def _read_text(path: Path, file_type: str, hint: str) -> str:
    try:
        if path.is_file() and path.stat().st_size > MAX_FILE_BYTES:
            raise RequestError(f"{path} is too large to be a {file_type}.", hint=hint)
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        way_out = "Name one, or let `discreet init FILE` write a draft." if file_type == "policy" else hint
        raise RequestError(f"There is no {file_type} {path}.", hint=way_out) from None
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


class _TreeBuilder:
    """Builds a tree from YAML nodes; aliases are copied, up to a size limit against billion-laughs files."""

    def __init__(self, document: YamlDocument, file_type: str) -> None:
        self._document, self._file_type = document, file_type
        self._count = 0

    def build_tree(self, node: Node, place: KeyPath, around: tuple[Node, ...]) -> YamlTree:
        self._count += 1
        if any(node is other for other in around):
            raise RequestError(self._document.format_problem(place, "the entry holds itself: write it out"))
        if self._count > MAX_ENTRIES:
            raise RequestError(f"{self._document.path} has too many entries for a {self._file_type}.")
        if node.tag not in PLAIN_TAGS:
            self._add_problem(
                place, f"the tag {node.tag} has no meaning in a {self._file_type}: leave it out"
            )
        if isinstance(node, ScalarNode):
            return Scalar(self._join_surrogates(node.value, place), node.style is not None)
        if isinstance(node, SequenceNode):
            return self._build_list(node, place, (*around, node))
        assert isinstance(node, MappingNode)
        return self._build_mapping(node, place, (*around, node))

    def _build_list(self, node: SequenceNode, place: KeyPath, around: tuple[Node, ...]) -> YamlTree:
        items: list[YamlTree] = []
        for index, item in enumerate(node.value):
            self._document.lines[*place, index] = item.start_mark.line + 1
            items.append(self.build_tree(item, (*place, index), around))
        return items

    def _build_mapping(self, node: MappingNode, place: KeyPath, around: tuple[Node, ...]) -> YamlTree:
        entries: dict[str, YamlTree] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                self._add_problem(
                    place, f"a name must be one word; line {line} has a list or a mapping there"
                )
                continue
            name = self._join_surrogates(key.value, place)
            inner = (*place, name)
            if name in entries:
                first = self._document.lines[inner]
                self._add_problem(inner, f"the name appears twice, in lines {first} and {line}: keep one")
                continue
            self._document.lines[inner] = line
            entries[name] = self.build_tree(value, inner, around)
        return entries

    def _join_surrogates(self, text: str, place: KeyPath) -> str:
        """Return the text with escaped surrogate pairs, as JSON writes them, joined into characters."""
        if not re.search("[\ud800-\udfff]", text):
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeError:
            self._add_problem(place, "holds half of a character: write it out")
            return ""

    def _add_problem(self, place: KeyPath, text: str) -> None:
        self._document.problems.append((place, text))


def _iterate_scalars(tree: YamlTree, place: KeyPath) -> Iterator[tuple[KeyPath, Scalar]]:
    if isinstance(tree, Scalar):
        yield place, tree
    else:
        entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for name, entry in entries:
            yield from _iterate_scalars(entry, (*place, name))
