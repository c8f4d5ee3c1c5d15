"""Spellings: the declared value that a text probably means.

Two texts that differ in case, blanks or accents alone are spellings of one value. Failing that, the declared
values that begin with the text, or that a few typing errors would turn into it, are near to it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

CLOSE = 0.75
LONGEST_COMPARED = 60
"""Characters of a text that are compared: the work grows with their square."""
MOST_COMPARED = 100_000
"""Characters of all declared values, beyond which typing errors are not looked for: a refusal is free, and
may take no more than a fraction of a second."""


def find_spelling(text: str, declared: Sequence[str]) -> str | None:
    """Return the declared value of which a text is another spelling, or None.

    >>> find_spelling(" MÄNNLICH", ["Mannlich", "weiblich"])
    'Mannlich'
    """
    folded = fold_spelling(text)
    return next((value for value in declared if fold_spelling(value) == folded), None)


def find_nearest(text: str, declared: Sequence[str]) -> str | None:
    """Return the declared value that a text probably means, or None if none is near or several are.

    >>> find_nearest("Femal", ["Male", "Female"]), find_nearest("?", ["Male", "Female"])
    ('Female', None)
    """
    found = list_nearest(text, declared)
    return found[0] if len(found) == 1 else None


def list_nearest(text: str, declared: Sequence[str]) -> list[str]:
    """Return the declared values that a text may mean, the nearest alone if it is nearer than the others.

    >>> list_nearest("F", ["Male", "Female"]), list_nearest("Ma", ["Male", "Married"])
    (['Female'], ['Male', 'Married'])
    """
    exact = find_spelling(text, declared)
    if exact is not None:
        return [exact]
    folded = {fold_spelling(value)[:LONGEST_COMPARED]: value for value in declared}
    wanted = fold_spelling(text)[:LONGEST_COMPARED]
    longer = [value for each, value in folded.items() if wanted and each.startswith(wanted)]
    if longer or sum(map(len, folded)) > MOST_COMPARED:
        return longer
    return [folded[each] for each in get_close_matches(wanted, folded, 1, CLOSE)]


def fold_spelling(text: str) -> str:
    """Return a text without the differences of case, blanks and accents."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return "".join(plain.split()).casefold()
