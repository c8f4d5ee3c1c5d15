"""Quoting of YAML scalars: plain if every YAML reader takes the text literally, else quoted."""

from __future__ import annotations

import json
import re

PLAIN = re.compile(r"(?!.* #)[A-Za-z_./][A-Za-z0-9_ ./#-]*(?<! )")
# Words that other YAML readers take for booleans or null.
AMBIGUOUS_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def quote_scalar(text: str) -> str:
    """Return a text as a YAML scalar.

    >>> quote_scalar("marital-status"), quote_scalar("no"), quote_scalar("a: b"), quote_scalar("größe")
    ('marital-status', '"no"', '"a: b"', '"größe"')
    """
    plain = PLAIN.fullmatch(text) is not None and text.lower() not in AMBIGUOUS_WORDS
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())
