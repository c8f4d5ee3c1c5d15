"""Tables of counts in the measurement store: a plain one is the measurement of COUNT(*) by its columns.

    discreet tabulate people --columns sex,ward  =  SELECT sex, ward, COUNT(*) FROM people GROUP BY sex, ward

So after the table the question is free, and after the question the table, where its noise is as narrow.

Same        the rows, each person's first ones by rank, are bounded before they are grouped; each declared
            value of a column is a bin of its own; no combination is declared impossible, and so without
            noise. The bin of missing values is the group NULL where the policy says that values may be
            missing. Where it says nothing, the question has no such group: the table has one cell more, its
            others are those of the question, and the question alone does not serve the table.
Not the same  ranges of numbers and dates, of which the question has every value; weighted rows, and rows that
            are truncated in the statement; marginals and ranges, which are measured by a strategy and
            released after the others have corrected them; streams, whose histogram is never released.
Certificate of a table from a question: the guarantee of that question's noise, which may be less noise than
            was planned. Means of several measurements have no guarantee that one certificate could state.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.entries import Entry, build_damaged_ledger_error
from discreet.belief import Promise
from discreet.core.column_entry import ColumnType
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Integers
from discreet.mining.attributes import Attribute
from discreet.mining.tabulation.contingency import ContingencyPlan
from discreet.services.stored_measurements import StoredMeasurements, noise_from_json, noise_to_json
from discreet.sql.core_planning import CorePlan
from discreet.sql.expression_tree import Column
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.relational_algebra import Scan
from discreet.sql.releases import MeasuredCore

METADATA = b"measurement"
"""What a stored table of counts says of its measurement, in the metadata of its file."""
KeyValue = str | bool | int | None
ARROW_TYPES = {"str": pa.string(), "bool": pa.bool_(), "int": pa.int64()}


@dataclass(frozen=True, kw_only=True)
class CountMeasurement:
    """The question whose only measurement a table of counts is, and the group of each of its bins.

    `values` has, by key, those of the first bins; a bin without one is no group of the question.
    """

    plan: QueryPlan = field(repr=False)
    values: Mapping[str, tuple[KeyValue, ...]]
    bins: tuple[int, ...]

    @property
    def core(self) -> CorePlan:
        return self.plan.core

    @property
    def name(self) -> str:
        """The name of the measurement in its plan."""
        (name,) = self.core.noisy_primitives
        return name

    @property
    def planned_noise(self) -> object:
        """The noise that the question would get at the same epsilon."""
        return self.core.noisy_primitives[self.name].noise

    @property
    def has_all_cells(self) -> bool:
        """True if every cell of the table is a group of the question."""
        return all(len(own) == bins for own, bins in zip(self.values.values(), self.bins, strict=True))

    def annotate_table(self, table: pa.Table, identity: str, noise: IntegerNoise) -> pa.Table:
        """Return a released table with the identity and the noise of its measurement in its metadata."""
        keys = [
            [self.core.identity.key_identities[name], type(own[0]).__name__, own]
            for name, own in self.values.items()
        ]
        said = {"identity": identity, "law": noise_to_json(noise), "keys": keys, "bins": self.bins}
        return table.replace_schema_metadata({METADATA: json.dumps(said)})

    def arrange_cells(self, measured: MeasuredCore) -> Integers:
        """Return the noisy counts of all cells, in the order of the table, from those of the question."""
        numbers = measured.primitives[self.name].numbers
        rows = zip(*(measured.keys[name].to_pylist() for name in self.values), strict=True)
        counts = dict(zip(rows, numbers, strict=True))
        return np.array([counts[cell] for cell in product(*self.values.values())]).reshape(self.bins)


def find_count_measurement(
    plan: ContingencyPlan, policy: Policy, promise: Promise, epsilon: Real
) -> CountMeasurement | None:
    """Return the measurement that a table of counts is; None if it is none of a question."""
    attributes, declared = plan.schema.attributes, policy.tables[plan.table]
    if not plan.possible.all():
        return None
    values = [_list_key_values(each, declared.columns[each.name].nulls) for each in attributes]
    if any(not own for own in values):
        return None
    names = ", ".join(quote_identifier(each.name) for each in attributes)
    question = f"SELECT {names}, COUNT(*) FROM {quote_identifier(plan.table)} GROUP BY {names}"
    try:
        made = plan_query(question, policy, promise, epsilon=epsilon)
    except RequestError:
        return None
    core, rows = made.core, made.core.question.rows
    limit = declared.rows_per_person if declared.has_person_key else None
    is_same = (
        isinstance(rows, Scan)
        and rows.row_limit == limit
        and core.bounding.weight_denominator == 1
        and core.partition_selection is None
        and len(core.charged_names) == len(core.noisy_primitives) == 1
    )
    keys = {of.name.rpartition(".")[2]: key.name for key, of in core.question.keys if isinstance(of, Column)}
    if not is_same or [*keys] != [each.name for each in attributes]:
        return None
    return CountMeasurement(
        plan=made,
        values=dict(zip(keys.values(), values, strict=True)),
        bins=tuple(each.bins for each in attributes),
    )


def _list_key_values(attribute: Attribute, nulls: bool | None) -> tuple[KeyValue, ...]:
    """Return the group of each bin, of the missing values last; nothing if a bin has several groups."""
    found: tuple[KeyValue, ...]
    if attribute.kind is ColumnType.CATEGORY:
        found = attribute.values
    elif attribute.kind is ColumnType.BOOLEAN:
        found = (False, True)
    elif attribute.kind is ColumnType.INTEGER and attribute.bounds is not None:
        low, high = (int(end) for end in attribute.bounds if not hasattr(end, "year"))
        found = tuple(range(low, high + 1))
    else:
        return ()
    if len(found) != attribute.regular_bins:
        return ()
    return (*found, None) if nulls else found


def parse_counts(content: bytes, entry: Entry) -> StoredMeasurements | None:
    """Return the measurement that an entry stores as a table of counts; None if it says nothing of it."""
    try:
        table = pq.read_table(io.BytesIO(content))
        said = (table.schema.metadata or {}).get(METADATA)
        if said is None:
            return None
        stored = json.loads(said)
        cells = np.asarray(table["noisy"].to_numpy(), dtype=np.int64).reshape(stored["bins"])
        values = [own for _, _, own in stored["keys"]]
        numbers = cells[np.ix_(*(range(len(own)) for own in values))].reshape(-1)
        rows = [*zip(*product(*values), strict=True)]
        keys = {
            identity: pa.chunked_array([pa.array(own, ARROW_TYPES[kind])])
            for (identity, kind, _), own in zip(stored["keys"], rows, strict=True)
        }
        noise = noise_from_json(stored["law"])
        released = ReleasedPrimitive(numbers=numbers, noise=noise, weight_denominator=1)
        identity = str(stored["identity"])
    except (pa.ArrowException, ValueError, TypeError, KeyError, AttributeError, OSError, ArithmeticError):
        raise build_damaged_ledger_error() from None
    return StoredMeasurements(
        entry_id=entry.id,
        entry=entry.number,
        question=entry.question,
        keys=keys,
        primitives={identity: released},
        selected_values={},
        epsilons={},
        bought_pins={},
        cells=len(numbers),
    )
