"""Rewrite the text of a policy so that it says what another policy does, with its comments and order.

Only what differs is touched: a value is replaced where it stands, an entry is added after those around it, a
removed one goes with its line. A mapping in braces of one line is written anew. The result is read again
before it is used: what cannot be edited so, such as an entry that others share by an alias, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from discreet.core.policy import Policy
from discreet.services.policy_draft.table_drafts import quote_scalar
from discreet.services.policy_text import format_tables, format_value
from discreet.services.yaml_reader import parse_nodes

INDENT = 2


class Edit(NamedTuple):
    """A part of a text, and what replaces it."""

    start: int
    end: int
    text: str


def rewrite_policy(text: str, before: Policy, after: Policy) -> str:
    """Return the text of the policy `before` so that it says what `after` does.

    >>> text = "tables:  # ours\\n  t:\\n    columns:\\n      age: {type: integer}  # in years\\n"
    >>> before = Policy.model_validate({"tables": {"t": {"columns": {"age": {"type": "integer"}}}}})
    >>> bounded = {"type": "integer", "low": 0, "high": 120}
    >>> after = Policy.model_validate({"tables": {"t": {"columns": {"age": bounded}}}})
    >>> print(rewrite_policy(text, before, after))
    tables:  # ours
      t:
        columns:
          age: {type: integer, low: 0, high: 120}  # in years
    <BLANKLINE>
    """
    root = parse_nodes(text)
    assert isinstance(root, MappingNode)
    edits = list(_Rewriter(text).compare(root, _dump_policy(before), _dump_policy(after), ()))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _dump_policy(policy: Policy) -> dict[str, Any]:
    return policy.model_dump(exclude_unset=True, by_alias=True)


@dataclass(frozen=True)
class _Rewriter:
    """Finds the edits of one text."""

    text: str

    def compare(
        self, node: MappingNode, before: Mapping[str, Any], after: Mapping[str, Any], place: tuple[str, ...]
    ) -> Iterator[Edit]:
        """Yield the edits of a mapping's entries."""
        known = {key.value: (key, value) for key, value in node.value}
        added: dict[str, Any] = {}
        for name in dict.fromkeys((*before, *after)):
            old, new = before.get(name), after.get(name)
            if name in before and name in after and old == new:
                continue
            if name not in known:
                if name in after:
                    added[name] = new
                continue
            key, value = known[name]
            if name not in after:
                yield self._remove(node, key, value)
            elif isinstance(old, Mapping) and isinstance(new, Mapping) and isinstance(value, MappingNode):
                yield from self._compare_mapping(value, old, new, (*place, name))
            else:
                yield self._replace(key, value, format_value(new))
        kept = [pair for name, pair in known.items() if name in after or name not in before]
        if added:
            yield self._add(node, kept, added, place)

    def _compare_mapping(
        self, node: MappingNode, old: Mapping[str, Any], new: Mapping[str, Any], place: tuple[str, ...]
    ) -> Iterator[Edit]:
        span = self.text[node.start_mark.index : node.end_mark.index]
        if node.flow_style and ("\n" not in span or not node.value):
            named = [key.value for key, _ in node.value if key.value in new]
            ordered = {name: new[name] for name in dict.fromkeys((*named, *new))}
            yield Edit(node.start_mark.index, node.end_mark.index, format_value(ordered))
        else:
            yield from self.compare(node, old, new, place)

    def _replace(self, key: Node, value: Node, text: str) -> Edit:
        """Return the edit of an entry's value; one of several lines begins after the name."""
        if (isinstance(value, CollectionNode) and not value.flow_style) or _is_empty(value):
            start = self.text.index(":", key.end_mark.index) + 1
            return Edit(start, max(start, self._find_end(value)), f" {text}")
        return Edit(value.start_mark.index, value.end_mark.index, text)

    def _remove(self, node: MappingNode, key: Node, value: Node) -> Edit:
        """Return the edit that removes an entry with its line, or from the brace to the next entry."""
        if not node.flow_style:
            start = self.text.rfind("\n", 0, key.start_mark.index) + 1
            after = self.text.find("\n", self._find_end(value)) + 1
            return Edit(start, after or len(self.text), "")
        at = next(place for place, (other, _) in enumerate(node.value) if other is key)
        if at:
            return Edit(node.value[at - 1][1].end_mark.index, value.end_mark.index, "")
        after = node.value[1][0].start_mark.index if len(node.value) > 1 else value.end_mark.index
        return Edit(key.start_mark.index, after, "")

    def _add(
        self,
        node: MappingNode,
        kept: list[tuple[Node, Node]],
        added: Mapping[str, Any],
        place: tuple[str, ...],
    ) -> Edit:
        """Return the edit that adds entries after the last of those that stay."""
        key, last = (kept or node.value)[-1]
        if node.flow_style:
            entries = ", ".join(
                f"{quote_scalar(name)}: {format_value(value)}" for name, value in added.items()
            )
            return Edit(last.end_mark.index, last.end_mark.index, f", {entries}")
        at = self._find_line_end(max(key.end_mark.index, self._find_end(last)))
        indent = " " * key.start_mark.column
        lines: list[str] = []
        for name, value in added.items():
            if place == ("tables",):
                lines += [f"{indent}{line[INDENT:]}" for line in format_tables({name: value}, Path())]
            elif (*place, name) == ("tables",):
                lines += ["tables:", *format_tables(value, Path())]
            else:
                lines.append(f"{indent}{quote_scalar(name)}: {format_value(value)}")
        newline = "\r\n" if "\r\n" in self.text else "\n"
        return Edit(at, at, "".join(newline + line for line in lines))

    def _find_end(self, node: Node) -> int:
        """Return the end of a value, without the comments and blank lines after it."""
        if isinstance(node, CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._find_end(last[1] if isinstance(last, tuple) else last)
        return node.end_mark.index

    def _find_line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if self.text[end - 1 : end] == "\r" and end > at else end


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value == "" and node.style is None
