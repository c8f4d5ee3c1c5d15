"""Digests of the data: what tells whether the contents of a table have changed.

They are recorded beside the ledger, by data version and table, with the state of the files that they were
computed from: path, size and time. A file is read again only if its state has changed.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from discreet.accounting.ledger_storage import find_sibling_file
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines import sources
from discreet.engines.content_digests import digest_contents
from discreet.services.addresses import parse_engine_address

DIGESTS_SUFFIX = ".sources.json"
RecordedDigests = dict[str, dict[str, dict[str, object]]]
"""By data version and table: the state of the files, and the digest of their contents."""


def digest_source(policy: Policy, name: str, frames: Collection[str] = ()) -> str | None:
    """Return the digest of a table's contents: the recorded one if its files have not changed since.

    None for what has no fixed contents: live tables of a database, frames, and tables without people.
    """
    table = policy.tables[name]
    if name in frames or table.person == "none" or not parse_engine_address(policy.engine).is_embedded:
        return None
    source, place = sources.locate_source(name, table), find_sibling_file(policy.ledger, DIGESTS_SUFFIX)
    known = {} if place is None else read_digests(place).get(policy.data_version, {})
    if name in known and known[name]["state"] == describe_state(source):
        return str(known[name]["digest"])
    return digest_contents(source)


def describe_source_state(policy: Policy, name: str) -> object:
    """Return path, size and time of a table's files; None for tables of a database."""
    if not parse_engine_address(policy.engine).is_embedded:
        return None
    return describe_state(sources.locate_source(name, policy.tables[name]))


def describe_state(source: sources.Source) -> object:
    """Return the state of a source as JSON has it, in which tuples are lists."""
    return json.loads(json.dumps([source.state, source.inner_table]))


def read_digests(path: Path) -> RecordedDigests:
    """Return the digests that were recorded in a file, or none if there is no such file."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        entries = [each for tables in found.values() for each in tables.values()]
        if all({"state", "digest"} <= set(each) for each in entries):
            return dict(found)
    except (OSError, ValueError, AttributeError, TypeError):
        pass
    raise RequestError(
        f"{path}, which records the digests of the data, cannot be read.",
        hint="If the data has not changed, delete the file; it will be written again.",
    )
