"""Masking of codes, one character per level: 13053 → 1305* → 130** → 13*** → 1**** → *.

Codes of different lengths share the levels of the longest: a shorter code is unchanged until the mask reaches
it, so A1, A12 and A12.9 meet at A1***. A share is the fraction of the declared values that a mask covers;
where none are declared, the fraction of all codes of the full length over the alphabet, of which an unmasked
code is one. Where neither length nor values are declared, the longest code in the data determines the length
of labels and the number of levels.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.anonymity.hierarchies.generalization_hierarchy import (
    TOP,
    Hierarchy,
    hierarchy_from_keys,
    hierarchy_from_rows,
    refuse_uncovered,
)
from discreet.core.hierarchy_entry import LONGEST_CODE, MaskAlphabet, MaskSide

MASK = "*"
CHARACTERS = {
    MaskAlphabet.DIGITS: string.digits,
    MaskAlphabet.LETTERS: string.ascii_letters,
    MaskAlphabet.ALPHANUMERIC: string.digits + string.ascii_letters,
}
CLASSES = (string.digits, string.ascii_uppercase, string.ascii_lowercase)
EXAMPLES = 12


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Characters masked from one side; by default alphabet and length are those of the values.

    `values` are declared by the policy; they count for shares, in the data or not.
    """

    name: str
    side: MaskSide = MaskSide.RIGHT
    alphabet: MaskAlphabet | None = None
    length: int | None = None
    values: tuple[str, ...] = ()

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        ordered = sorted(set(values))
        refuse_uncovered(self.name, len(self.find_uncovered([*self.values, *ordered])))
        return self._build_from_values(ordered) if self.values else self._build_from_pattern(ordered)

    def _build_from_values(self, present: Sequence[str]) -> Hierarchy:
        """Build the hierarchy from the declared values, and from other values in the data."""
        codes = list(dict.fromkeys((*self.values, *present)))
        longest = max(map(len, self.values))
        length = self.length or max(map(len, codes))
        masks = [
            (code, *(self._mask_value(code, kept, length) for kept in range(length - 1, 0, -1)), TOP)
            for code in codes
        ]
        return replace(
            hierarchy_from_rows(self.name, masks), is_declared=self.length is not None or length == longest
        )

    def _build_from_pattern(self, ordered: Sequence[str]) -> Hierarchy:
        length = self.length or max(map(len, ordered), default=1)
        alphabet = float(self._count_characters(ordered))
        size = alphabet**length

        def describe(label: str) -> tuple[str, float]:
            return label, alphabet ** -float(len(label.strip(MASK)) if MASK in label else length)

        levels = [
            ([self._mask_value(value, kept, length) for value in ordered], describe)
            for kept in range(length - 1, 0, -1)
        ]
        return hierarchy_from_keys(self.name, ordered, levels, size=size, is_declared=self.length is not None)

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        longest = self.length or LONGEST_CODE
        allowed = CHARACTERS.get(self.alphabet) if self.alphabet else None
        return tuple(
            value
            for value in values
            if not 0 < len(value) <= longest
            or MASK in value
            or (allowed is not None and not set(value) <= set(allowed))
        )

    def list_example_values(self) -> tuple[str, ...]:
        """Return example codes: the declared ones, otherwise invented ones."""
        if self.values:
            return self.values
        letters = CHARACTERS[self.alphabet or MaskAlphabet.DIGITS]
        length, few = self.length or 5, letters[:2]
        codes = [f"{place:b}"[-length:].rjust(length, "0") for place in range(EXAMPLES)]
        return tuple(dict.fromkeys("".join(few[int(bit)] for bit in code) for code in codes))

    def _mask_value(self, value: str, kept: int, length: int) -> str:
        if len(value) < kept:
            return value
        if self.side == MaskSide.RIGHT:
            return value[:kept].ljust(length, MASK)
        return value[len(value) - kept :].rjust(length, MASK)

    def _count_characters(self, values: Sequence[str]) -> int:
        """Return how many characters one position of a code can have."""
        if self.alphabet is not None:
            return len(CHARACTERS[self.alphabet])
        seen = set().union(*values)
        ranges = [set(letters) for letters in CLASSES if seen & set(letters)]
        # at least 2: with one character every label would cover the whole domain
        return max(2, sum(map(len, ranges)) + len(seen.difference(*ranges)))
