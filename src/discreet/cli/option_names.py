"""Names of parameters in messages: services write Python arguments, the command line shows options.

A message names a parameter as a Python caller would give it, in backticks with an equals sign:
`least_rows=`, or with a value `promise="1%:5%"`. What has no equals sign, such as `bounds` of a policy, is
no parameter and stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

ARGUMENT = re.compile(r"`([a-z_]+)=([^`]*)`")
QUOTES = "'\""


def name_options(text: str, options: Mapping[str, str]) -> str:
    """Return the text with the arguments in it as options; `options` has those not named like their argument.

    >>> name_options('Give `promise="1%:5%"`, `logarithmic=` or `k=5`.', {"logarithmic": "--log"})
    'Give --promise 1%:5%, --log or -k 5.'
    """

    def to_option(match: re.Match[str]) -> str:
        name, value = match.groups()
        dashes = "-" if len(name) == 1 else "--"
        option = options.get(name, dashes + name.replace("_", "-"))
        return f"{option} {_quote_value(value)}".rstrip()

    return ARGUMENT.sub(to_option, text)


def _quote_value(value: str) -> str:
    """Return a value as a shell takes it: in its quotes only if it has a space."""
    plain = value[1:-1] if value[:1] in QUOTES and value[:1] == value[-1:] else value
    return value if " " in plain else plain
