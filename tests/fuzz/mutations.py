"""Seeded mutations of what is valid: texts, trees of YAML and JSON, bytes, and words of a command line."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ODD_TEXTS = (
    *("", " ", "0", "-1", "1e999", "nan", "inf", "-inf", "1/0", "0.1%", "200%", "9" * 400, "null", "~", "?"),
    *("\0", "\n", "\x1b[31m", "é", "ß€😀", "\u202e", "\ufeff", "a" * 5000, "{}", "[]", "[[]]", "{", "'", '"'),
    *("--", "-", "=", "a=b", "a:b", "1:2", "../..", "/dev/null", "/", ".", "no-such", "true", "yes", "0x10"),
    *(
        "2024-13-45",
        "10000-01-01",
        "SELECT",
        "SELECT 1",
        "; DROP TABLE x",
        "%s%n",
        "${HOME}",
        "$(id)",
        "*",
        "#",
    ),
)
NOT_UTF8 = (os.fsdecode(b"\xff"), os.fsdecode(b"a\xfe\xffb"), os.fsdecode(b"\xc3"), "\ud800")
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 10**30, -(10**30), 0.5, float("inf"), [], {}, [[]], [{}], {"": None}),
    *([None], [1, "a", []], {"a": {"b": {"c": []}}}, {"type": []}, ["x"] * 100, [0] * 3, {1: 2}),
)


@dataclass
class Mutations:
    """Draws that repeat: the same seed gives the same mutations."""

    seed: int
    dice: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.dice = np.random.default_rng(self.seed)

    def below(self, most: int) -> int:
        return int(self.dice.integers(most))

    def one(self, of: Sequence[Any]) -> Any:
        return of[self.below(len(of))]

    def odd_text(self, *, bytes_too: bool = False) -> str:
        return str(self.one((*ODD_TEXTS, *NOT_UTF8) if bytes_too else ODD_TEXTS))

    def odd_value(self) -> Any:
        return copy.deepcopy(self.one((*ODD_VALUES, *ODD_TEXTS)))

    def mutate_tree(self, tree: Any) -> Any:
        """A tree of dictionaries and lists with one to three of its places changed."""
        changed = copy.deepcopy(tree)
        for _ in range(1 + self.below(3)):
            places = list(_places(changed))
            if not places:
                return self.odd_value()
            around, key = self.one(places)
            self._change(around, key)
        return changed

    def _change(self, around: Any, key: Any) -> None:
        way = self.below(6)
        if way == 0:
            del around[key]
        elif way == 1 and isinstance(around, dict):
            around[self.odd_text()] = around[key]
        elif way == 2 and isinstance(around, dict):
            other = self.one(list(around))
            around[key], around[other] = around[other], around[key]
        elif way == 3:
            around[key] = [around[key]]
        else:
            around[key] = self.odd_value()

    def mutate_text(self, text: str) -> str:
        """A text with a few of its pieces removed, doubled, or replaced."""
        lines = text.splitlines(keepends=True)
        for _ in range(1 + self.below(3)):
            if not lines:
                break
            place, way = self.below(len(lines)), self.below(5)
            line = lines[place]
            at = self.below(len(line) + 1)
            if way == 0:
                del lines[place]
            elif way == 1:
                lines.insert(place, line)
            elif way == 2:
                lines[place] = line[:at] + self.odd_text() + line[at:]
            elif way == 3:
                lines[place] = line[:at]
            else:
                lines[place] = line[:at] + line[at + 1 + self.below(5) :]
        return "".join(lines)

    def mutate_bytes(self, content: bytes) -> bytes:
        """Bytes that are flipped, cut, doubled or filled."""
        found = bytearray(content)
        for _ in range(1 + self.below(4)):
            if not found:
                break
            place, way = self.below(len(found)), self.below(6)
            if way == 0:
                found[place] ^= 1 << self.below(8)
            elif way == 1:
                del found[place:]
            elif way == 2:
                del found[place : place + 1 + self.below(16)]
            elif way == 3:
                found[place:place] = self.dice.bytes(1 + self.below(16))
            elif way == 4:
                end = min(len(found), place + 1 + self.below(64))
                found[place:end] = bytes(end - place)
            else:
                found[place] = self.below(256)
        return bytes(found)

    def mutate_words(self, words: Sequence[str], options: Mapping[str, str]) -> list[str]:
        """Change one to three words of a command line to odd ones; the first, the verb, mostly stays.

        `options` names the kind of value that each option takes: "flag", "number", "file" or "text".
        """
        found = list(words)
        for _ in range(1 + self.below(3)):
            place, way = self.below(len(found)) if found else 0, self.below(6)
            place = place or (0 if self.below(20) == 0 else min(1, len(found)))
            if way == 0 and place < len(found):
                del found[place]
            elif way == 1 and place < len(found):
                found.insert(place, found[place])
            elif way == 2 and options:
                found[place:place] = [self.one(list(options)), self.odd_text(bytes_too=True)]
            elif way == 3 and options:
                found.insert(place, self.one(list(options)))
            elif place < len(found):
                found[place] = self.odd_text(bytes_too=True)
            else:
                found.append(self.odd_text(bytes_too=True))
        # no word of a command line holds this character: the system ends a word there
        return [word.replace("\0", "") for word in found]

    def vary_words(
        self, words: Sequence[str], options: Mapping[str, str], likely: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """Change one or two values of a command line to others of their kind, or add an option.

        `likely` has values of each kind. Such a line is mostly read to its end, and gets further than one of
        odd words.
        """
        found = list(words)
        for _ in range(1 + self.below(2)):
            places = [place for place, word in enumerate(found) if not word.startswith("-")]
            if places and self.below(2):
                place = self.one(places)
                found[place] = self.one(likely[_kind(found[place])])
            else:
                name = self.one(list(options))
                kind = options[name]
                found += [name] if kind == "flag" else [name, self.one(likely[kind])]
        return found


def _kind(word: str) -> str:
    if word.rstrip("%").replace(".", "", 1).isdigit():
        return "number"
    return "file" if "." in word[-8:] and " " not in word else "text"


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All entries, with what is around each."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(entries):
        yield tree, key
        yield from _places(value)
