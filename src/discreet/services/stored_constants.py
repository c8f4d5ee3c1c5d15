"""The constants that conditions on rows compare with, and their values in the ledger.

    SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)

Values      follow from what is stored of the subquery, or are those that were released with an entry.
Former      a statement is measured for the value that was released then. Asked again, it is answered for that
            value, although what is stored now would give another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from discreet.accounting.entries import Entry
from discreet.accounting.measurement_index import MeasurementIndex
from discreet.core.policy import Policy
from discreet.services.bounded_cache import BoundedCache
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.measurement_versions import MeasurementVersions
from discreet.services.question_measurement import compute_constant
from discreet.sql.plan_execution import compute_constants
from discreet.sql.released_constants import ConstantValues
from discreet.sql.releases import MeasuredCores

if TYPE_CHECKING:
    from discreet.sql.planner import QueryPlan

NOTE = "constants "
"""What begins a note of the values of a statement's constants that an entry compares rows with."""
MAX_CACHED_VALUES = 256


@dataclass(frozen=True, kw_only=True)
class StoredConstants:
    """The values of constants that one analyst's stored measurements have."""

    policy: Policy
    index: MeasurementIndex
    versions: MeasurementVersions
    _values: BoundedCache[Hashable, ConstantValues] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_VALUES), repr=False
    )

    def identify_statement(self, plan: QueryPlan) -> str:
        """Return the identity of all measurements of a plan whose constants are open."""
        own = sorted(
            (core.table, name, each)
            for core in plan.cores
            for name, each in self.versions.complete_all([core]).items()
        )
        constants = sorted((name, each.sql) for name, each in plan.split.constants.items())
        return hashlib.sha256(repr((NOTE, own, constants)).encode()).hexdigest()

    def compute_values(self, plan: QueryPlan, found: FoundMeasurements) -> ConstantValues:
        """Return the values of constants that follow from what is stored."""
        stored = found.combine_available({})
        key = (plan.release_key, tuple(stored), tuple(plan.constants.items()), found.sources)
        return self._values.get_or_compute(key, lambda: compute_constants(plan, stored, compute_constant))

    def list_former_values(self, plan: QueryPlan) -> list[ConstantValues]:
        """Return the values of constants with which the same statement was measured, the newest first."""
        statement = self.identify_statement(plan)
        entries = [entry for _, entry in self.index.find([statement])]
        noted = [self.index.list_notes(entry, f"{NOTE}{statement} ") for entry in reversed(entries)]
        return [
            {name: None if value is None else Decimal(value) for name, value in json.loads(each).items()}
            for notes in noted
            for each in notes
        ]

    def note_values(self, plan: QueryPlan, found: FoundMeasurements, entry: Entry) -> None:
        """Note with which values of its constants an entry measures a statement, if they are all known."""
        if plan.open_constants and plan.open_constants <= found.constants.keys():
            values = {name: None if each is None else str(each) for name, each in found.constants.items()}
            statement = self.identify_statement(plan)
            noted = f"{NOTE}{statement} {json.dumps(values, sort_keys=True)}"
            self.index.announce(entry, {statement, noted})

    def fill_released(
        self, plan: QueryPlan, found: FoundMeasurements, measured: MeasuredCores
    ) -> FoundMeasurements:
        """Return what was found of a plan with the constants that what was measured now compares with."""
        values = {name: value for core in measured.values() for name, value in core.constants.items()}
        if values == found.constants:
            return found
        filled = found.fill_plan(plan).fill_constants(values, self.policy)
        return replace(
            found,
            cores=filled.cores,
            constants=filled.constants,
            identities={**found.identities, **self.versions.complete_all(filled.cores)},
        )
