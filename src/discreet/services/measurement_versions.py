"""Versions of measurements: of the data, and of what a measurement reads of the policy.

Adding a column or an analyst to the policy changes no other measurement; changing a column that it reads
makes it another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.core.policy import Policy
from discreet.services.policy_version import compute_policy_version
from discreet.sql.measurement_identity import MeasurementIdentity

if TYPE_CHECKING:
    from discreet.sql.core_planning import CorePlan


@dataclass(frozen=True, kw_only=True)
class MeasurementVersions:
    """The versions of what is read of one policy."""

    policy: Policy
    _known: dict[str, str] = field(default_factory=dict, repr=False)

    def complete(self, identity: MeasurementIdentity) -> str:
        """Return an identity with the version of the data, and of what it reads of the policy."""
        return hashlib.sha256(
            f"{identity.text}:{self.compute_version(identity.tables)}:{self.policy.data_version}".encode()
        ).hexdigest()

    def complete_all(self, cores: Iterable[CorePlan]) -> dict[str, str]:
        """Return the identities, with their versions, of all that some cores measure, by name."""
        return {name: self.complete(each) for core in cores for name, each in core.identities.items()}

    def compute_version(self, tables: Mapping[str, Collection[str]]) -> str:
        """Return the version of some columns of some tables."""
        key = repr(sorted((table, sorted(columns)) for table, columns in tables.items()))
        if key not in self._known:
            self._known[key] = compute_policy_version(select_read_entries(self.policy, tables))
        return self._known[key]

    def is_current(self, tables: Mapping[str, Collection[str]], version: str) -> bool:
        """Return whether some columns of some tables still have a version."""
        is_known = all(
            table in self.policy.tables and {*columns} <= {*self.policy.tables[table].columns}
            for table, columns in tables.items()
        )
        return is_known and self.compute_version(tables) == version


def select_read_entries(policy: Policy, tables: Mapping[str, Collection[str]]) -> Policy:
    """Return the part of a policy that a measurement reads: some columns of some tables.

    The columns that name people and link tables are a part of every table, and the tables through which the
    people of a table are found are read with it.
    """
    wanted = {name: set(columns) for name, columns in tables.items()}
    for name in tables:
        for link in policy.list_person_path(name):
            wanted.setdefault(link.table, set()).add(link.column)
    read = {}
    for name, columns in wanted.items():
        table = policy.tables[name]
        kept = {*columns, *table.links, *([table.person_column] if table.person_column else [])}
        own = {column: entry for column, entry in table.columns.items() if column in kept}
        read[name] = table.model_copy(update={"columns": own})
    return policy.model_copy(update={"tables": read, "hierarchies": {}})
