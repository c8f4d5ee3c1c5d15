"""The entries of a draft that say where the rows are: the engine's address, and what may be written there.

A password or a token of the address is not among them: a policy is read by more people than may have it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from discreet.app.addresses import engine_of, without_password

PLAIN = re.compile(r"\w+:(?!.*:$)[\w.:/@?&=%,;+~\[\]-]+")
KEPT = {
    "postgresql": "~/.pgpass or PGPASSWORD",
    "sc": "SPARK_CONNECT_AUTHENTICATE_TOKEN",
}
"""Where what only a user may know belongs, by the scheme of an address."""
STORE = """\
# store: {place:<12}    # a {what} that may be written to: tables are prepared there once, for all questions
# data_version: 2        # raise it when the data change: answers and prepared tables are of one version
# bounding: rows         # of a person with too many rows some count; weights: all, for less. Unsaid: weights
#                          where nothing is prepared, rows where a store is
"""


def entry(address: str, folder: Path) -> str:
    """Lines for a policy in `folder`; none where files are what is read."""
    scheme = engine_of(address).scheme
    if scheme == "duckdb":
        file = address.removeprefix("duckdb:///")
        return "" if file == address else f"\nengine: {_word(f'duckdb:///{os.path.relpath(file, folder)}')}\n"
    where = KEPT.get(scheme)
    remark = f"# A password belongs into {where}, not in here.\n" if where else ""
    place, what = ("discreet", "schema") if scheme == "postgresql" else ("prepared", "path")
    store = STORE.format(place=place, what=what)
    return f"\n{remark}engine: {_word(without_password(address))}\n{store}"


def left_to_tell(address: str) -> str | None:
    """A sentence for whoever gave a password, which the draft does not have."""
    if without_password(address) == address:
        return None
    return f"The password is not in the draft: put it into {KEPT[engine_of(address).scheme]}."


def _word(address: str) -> str:
    return address if PLAIN.fullmatch(address) else json.dumps(address)
