"""The engine entries of a draft: the engine's address, and the store that may be written there.

Passwords and tokens are removed from the address: more people read a policy than may know them.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from discreet.services.engine_addresses import parse_engine_address, remove_password

PLAIN = re.compile(r"\w+:(?!.*:$)[\w.:/@?&=%,;+~\[\]-]+")
PASSWORD_PLACES = {
    "postgresql": "~/.pgpass or PGPASSWORD",
    "sc": "SPARK_CONNECT_AUTHENTICATE_TOKEN",
}
"""The proper place of a password or token, by the scheme of an address."""
STORE = """\
# store: {place:<12}    # a writable {what}: tables are prepared there once, for all questions
# data_version: 2        # raise it when the data change: answers and prepared tables belong to one version
# bounding: rows         # truncates the rows of a person with too many; weights: reweights all of them.
#                          Default: weights without a store, rows with one
"""


def format_engine_entry(address: str, folder: Path) -> str:
    """Return the engine lines of a policy in `folder`; empty if the sources are plain files."""
    scheme = parse_engine_address(address).scheme
    if scheme == "duckdb":
        file = address.removeprefix("duckdb:///")
        return (
            ""
            if file == address
            else f"\nengine: {_quote_address(f'duckdb:///{os.path.relpath(file, folder)}')}\n"
        )
    where = PASSWORD_PLACES.get(scheme)
    remark = f"# A password belongs in {where}, not in this file.\n" if where else ""
    place, what = ("discreet", "schema") if scheme == "postgresql" else ("prepared", "path")
    store = STORE.format(place=place, what=what)
    return f"\n{remark}engine: {_quote_address(remove_password(address))}\n{store}"


def describe_omitted_password(address: str) -> str | None:
    """Return a sentence that the password was left out of the draft; None if there was none."""
    if remove_password(address) == address:
        return None
    place = PASSWORD_PLACES[parse_engine_address(address).scheme]
    return f"The password is not in the draft: put it in {place}."


def _quote_address(address: str) -> str:
    return address if PLAIN.fullmatch(address) else json.dumps(address)
