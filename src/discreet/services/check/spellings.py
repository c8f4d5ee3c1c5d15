"""Spellings: the declared value that a text of the data probably means.

Two texts that differ in case, blanks or accents alone are spellings of one value. Failing that, the declared
value that a few typing errors would turn into the text is the nearest one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

CLOSE = 0.8


def find_spelling(text: str, declared: Sequence[str]) -> str | None:
    """Return the declared value of which a text is another spelling, or None.

    >>> find_spelling(" MÄNNLICH", ["Mannlich", "weiblich"])
    'Mannlich'
    """
    folded = fold_spelling(text)
    return next((value for value in declared if fold_spelling(value) == folded), None)


def find_nearest(text: str, declared: Sequence[str]) -> str | None:
    """Return the declared value whose spelling is nearest to a text, or None if none is near.

    >>> find_nearest("Femal", ["Male", "Female"]), find_nearest("?", ["Male", "Female"])
    ('Female', None)
    """
    exact = find_spelling(text, declared)
    if exact is not None:
        return exact
    folded = {fold_spelling(value): value for value in declared}
    return next((folded[each] for each in get_close_matches(fold_spelling(text), folded, 1, CLOSE)), None)


def fold_spelling(text: str) -> str:
    """Return a text without the differences of case, blanks and accents."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return "".join(plain.split()).casefold()
