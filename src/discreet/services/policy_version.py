"""The version of a policy: a digest of everything that answers depend on.

Stored answers are found by it: an answer is repeated only under the policy that it was computed under.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.accounting.ledger_storage import find_sibling_file
from discreet.core.policy import Policy
from discreet.services.addresses import parse_engine_address


def compute_policy_version(policy: Policy) -> str:
    """Return a digest of everything in a policy that answers depend on, ignoring order, comments and format.

    Analysts, whether they share answers, access to true values, the addresses of ledger and store, the
    default epsilon, `most_rows`, `at_most`, where learned bounds come from, and the data version are not part
    of it. Paths are taken relative to the ledger, so that moving the whole folder keeps the digest. Entries
    that older policies could not have are a part of it only where they are set, so that the digest of an
    older policy stays.
    """
    meant = policy.model_dump(
        exclude={
            "analysts",
            "ledger",
            "ledger_mark",
            "store",
            "epsilon",
            "data_version",
            "share_answers",
            "true_values",
            "at_most",
        }
    )
    for table in meant["tables"].values():
        del table["most_rows"]
        for column in table["columns"].values():
            del column["learned"]
        for entry, added in ((table, "csv"), *((each, "source_name") for each in table["columns"].values())):
            if entry[added] is None:
                del entry[added]
    meant["engine"] = parse_engine_address(policy.engine).location
    place = find_sibling_file(policy.ledger, ".db")
    if place is not None and parse_engine_address(policy.engine).reads_files:
        folder = os.path.dirname(place)
        for entries, name in ((meant["tables"], "source"), (meant["hierarchies"], "csv")):
            for entry in entries.values():
                if entry[name]:
                    entry[name] = os.path.relpath(str(entry[name]), folder)
    text = json.dumps(_to_canonical(meant), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _to_canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _to_canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_canonical(entry) for entry in value]
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        return f"number {Fraction(value)}"
    if isinstance(value, date):
        return f"time {value.isoformat()}"
    return value
