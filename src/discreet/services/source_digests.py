"""Refuse data that changed while the policy's `data_version` did not, when the sources are opened.

Stored answers belong to one version of the data, and a difference of two answers under one version would
reveal what changed. So a digest of every source file is stored beside the ledger, with the `data_version`. A
table whose contents differ under the same version is refused until the custodian sets another version.

Contents    by `engines.sources`; files are read again only if their path, size or time has changed.
Excluded    tables of PostgreSQL and Spark may change at any time, and frames are passed in by the program:
            neither is recorded.
Refusal     depends on the policy and the state of the sources, costs nothing, and reveals no data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines import sources
from discreet.engines.sources import digest_contents, have_changed
from discreet.services.engine_addresses import parse_engine_address
from discreet.services.ledger_addresses import find_sibling_file

DIGESTS_SUFFIX = ".sources.json"
RecordedDigests = dict[str, dict[str, dict[str, object]]]
"""By data version and table: the state of the files, and the digest of their contents."""


def require_unchanged_sources(policy: Policy, frames: Collection[str] = ()) -> None:
    """Refuse a table whose contents changed while `data_version` did not; record new tables."""
    place = find_sibling_file(policy.ledger, DIGESTS_SUFFIX)
    if place is None or not parse_engine_address(policy.engine).is_embedded:
        return
    known = _read_digests(place)
    tables, before = known.setdefault(policy.data_version, {}), json.dumps(known)
    for name, table in policy.tables.items():
        if name in frames or table.person == "none":  # a table without people may change
            continue
        source = sources.locate_source(name, table)
        # through JSON, so that tuples compare equal to the stored lists
        state, remembered = json.loads(json.dumps([source.state, source.inner_table])), tables.get(name)
        if remembered is not None and remembered["state"] == state:
            continue
        digest = digest_contents(source)
        if remembered is not None and have_changed(str(remembered["digest"]), digest):
            raise RequestError(
                f"The data of table {name} has changed, and the policy's data_version "
                f"({policy.data_version}) has not.",
                hint="The custodian sets another data_version in the policy, or puts the data back.",
            )
        tables[name] = {"state": state, "digest": digest}
    if json.dumps(known) != before:
        _write_digests(place, known)


def _read_digests(path: Path) -> RecordedDigests:
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


def _write_digests(path: Path, recorded: RecordedDigests) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(recorded, file, indent=1)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
