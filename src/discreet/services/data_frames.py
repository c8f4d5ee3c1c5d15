"""Arrow, pandas and polars frames in place of the tables of a policy."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Policy


def resolve_frame(policy: Policy, table: object) -> tuple[str, dict[str, pa.Table]]:
    """Return the name of the policy's table, and the frame to use for it, if one was given."""
    if isinstance(table, str):
        if table not in policy.tables:
            raise RequestError(
                f"anonymize: the policy has no table {table}.", hint=f"It has {', '.join(policy.tables)}."
            )
        return table, {}
    if len(policy.tables) != 1:
        raise RequestError(
            "anonymize: a frame needs a policy with exactly one table, which declares its columns.",
            hint="Give such a policy, or pass the name of a table.",
        )
    (name,) = policy.tables
    return name, {name: frame_to_arrow(table)}


def frames_to_tables(policy: Policy, frames: Mapping[str, object]) -> dict[str, pa.Table]:
    """Return frames as Arrow tables, to use in place of tables of a policy."""
    unknown = [name for name in frames if name not in policy.tables]
    if unknown:
        raise RequestError(
            f"frames: the policy has no table {unknown[0]}.", hint=f"It has {', '.join(policy.tables)}."
        )
    return {name: frame_to_arrow(frame) for name, frame in frames.items()}


def frame_to_arrow(table: object) -> pa.Table:
    """Return a frame as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "collect_schema") and hasattr(table, "collect"):
        table = table.collect()  # a lazy frame of polars, which has its rows only then
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return _pandas_to_arrow(table)
    raise RequestError(
        "A table must be the name of a table in the policy, or an Arrow, pandas or polars frame.",
        hint="Pass one of these.",
    )


def _pandas_to_arrow(table: object) -> pa.Table:
    mixed = ""
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        names = [str(name) for name in getattr(table, "columns", ())]
        mixed = next((name for name in names if f"column {name} " in str(error)), "one of them")
    # Raised outside of the handler, because the driver's error quotes values.
    raise DataError(
        f"The columns of the frame must have one type each, and {mixed} has several.",
        hint="Convert it first, to text for example.",
    )
