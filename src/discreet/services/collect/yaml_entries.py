"""YAML files of operators, analyses and surveys.

Every scalar stays text as typed, and every error names file, line and entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.number_checks import parse_probability
from discreet.services.policy_errors import find_nearest_name
from discreet.services.yaml_reader import KeyPath, Scalar, YamlDocument, YamlTree, read_yaml

Plain = str | list["Plain"] | dict[str, "Plain"]


class YamlFile:
    """The entries of a file, with checks that raise errors naming the line."""

    def __init__(self, path: Path, file_type: str) -> None:
        self._document: YamlDocument = read_yaml(path, file_type)
        for place, problem in self._document.problems:
            self.refuse(place, problem)
        if not isinstance(self._document.tree, dict):
            self.refuse((), "it must be entries of the form NAME: VALUE")
        self.entries = _tree_to_entries(self._document.tree)

    def refuse(self, place: KeyPath, text: str) -> NoReturn:
        """Raise an error that names file, line and entry."""
        raise RequestError(self._document.format_problem(place, text))

    def require_known_names(self, place: KeyPath, given: Iterable[str], known: tuple[str, ...]) -> None:
        """Raise if an entry's name is unknown."""
        for name in given:
            if name not in known:
                meant = find_nearest_name(name, known)
                way_out = f"did you mean {meant}?" if meant else f"known are {', '.join(known)}"
                self.refuse((*place, name), f"unknown name: {way_out}")

    def require_mapping(self, place: KeyPath, value: Plain) -> dict[str, Plain]:
        if not isinstance(value, dict):
            self.refuse(place, "must be entries of the form NAME: VALUE")
        return value

    def require_text(self, place: KeyPath, value: Plain) -> str:
        if not isinstance(value, str) or not value.strip():
            self.refuse(place, "must be a text")
        return value.strip()

    def require_texts(self, place: KeyPath, value: Plain) -> list[str]:
        """Return a list of texts; a single text is a list of one."""
        items = value if isinstance(value, list) else [value]
        return [self.require_text((*place, index), item) for index, item in enumerate(items)]

    def parse_share(self, place: KeyPath, value: Plain) -> float:
        try:
            return parse_probability("it", self.require_text(place, value))
        except InvalidParameterError as error:
            self.refuse(place, error.message.removeprefix("it "))

    def parse_promise(self, place: KeyPath, value: Plain) -> Promise:
        """Return the promise of `1%:5%` or {prior: 1%, posterior: 5%}."""
        if isinstance(value, dict):
            self.require_known_names(place, value, ("prior", "posterior"))
            prior, posterior = (
                self.require_text((*place, end), value.get(end, "")) for end in ("prior", "posterior")
            )
            value = f"{prior}:{posterior}"
        try:
            return parse_promise("promise", self.require_text(place, value))
        except InvalidParameterError as error:
            self.refuse(place, error.message.removeprefix("promise "))


def parse_promise(name: str, text: str) -> Promise:
    """Return the promise of a text prior:posterior.

    >>> parse_promise("--promise", "1%:5%").gamma
    5.2105...
    """
    prior, colon, posterior = text.partition(":")
    if not colon:
        raise InvalidParameterError(f"{name} must be prior:posterior such as 1%:5%; got {text}.")
    return Promise(parse_probability(name, prior), parse_probability(name, posterior))


def _tree_to_entries(tree: dict[str, YamlTree]) -> dict[str, Plain]:
    return {name: _tree_to_plain(entry) for name, entry in tree.items()}


def _tree_to_plain(tree: YamlTree) -> Plain:
    if isinstance(tree, Scalar):
        return tree.text
    return _tree_to_entries(tree) if isinstance(tree, dict) else [_tree_to_plain(each) for each in tree]
