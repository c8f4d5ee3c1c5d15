"""Names of parameters in messages: services write Python arguments, the command line shows options."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.core.errors import rename_arguments


def name_options(text: str, options: Mapping[str, str]) -> str:
    """Return the text with the arguments in it as options; `options` has those not named like their argument.

    >>> name_options('Give `promise="1%:5%"`, `logarithmic=` or `k=5`.', {"logarithmic": "--log"})
    'Give --promise 1%:5%, --log or -k 5.'
    """

    def to_option(name: str, value: str) -> str:
        dashes = "-" if len(name) == 1 else "--"
        option = options.get(name, dashes + name.replace("_", "-"))
        return f"{option} {value}".rstrip()

    return rename_arguments(text, to_option)
