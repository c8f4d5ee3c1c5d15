"""Files of reports: what clients sent, and in the file's own metadata what it was made by.

Parquet     one row a client, as the operator's form lays it out. The key `discreet` of the schema's metadata
            holds the operator, the values or items in the order of their codes, the column's name and the
            promise, so that nothing else is needed to estimate from the file.
Order       Reports are sorted, so that their order says nothing of the order in which people answered.
Written     under a name of its own first, and renamed once it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.belief import Promise, highest_posterior
from discreet.belief.wording import format_percent, format_percent_up
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.output_files import get_draft_path, make_unwritable_error, remove_leftovers, require_output
from discreet.local import BASKETS, MEANS, notation
from discreet.local.forms import Reports
from discreet.local.operator import Operator

KEY, FORMAT = b"discreet", 1
USUAL_PRIOR = 0.01


@dataclass(frozen=True, kw_only=True)
class Description:
    """What reports are of: an operator, and what its codes stand for; of baskets, what its items are.

    The numbers of a mean have no names.
    """

    operator: Operator
    values: tuple[str, ...]
    column: str
    promise: Promise | None = None

    @property
    def belief(self) -> tuple[float, float]:
        """A prior, and the most that it can become after one report."""
        prior, group = self.prior
        return prior, highest_posterior(prior, self.operator.epsilon * group)

    @property
    def prior(self) -> tuple[float, int]:
        """The prior that beliefs are told for, and of how many people who answer alike."""
        return (self.promise.prior, self.promise.group) if self.promise else (USUAL_PRIOR, 1)

    @property
    def sentence(self) -> str:
        """The belief in words."""
        prior, posterior = self.belief
        return (
            f"An attacker who was at most {format_percent(prior)} sure of a claim about one person's "
            f"{self.column} can, after that person's report, be at most {format_percent_up(posterior)} sure."
        )


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, to be written and renamed.

    It is made at once: a place that cannot be written to is refused before anything is charged.
    """
    require_parquet(path)
    require_output(path)
    remove_leftovers(path.absolute().parent, path.name)
    draft = get_draft_path(path)
    try:
        draft.touch()
    except OSError as error:
        raise make_unwritable_error(path, error) from None
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def write_reports(path: Path, draft: Path, description: Description, reports: Reports) -> None:
    """Write reports with their description, whole or not at all."""
    table = description.operator.form.to_arrow(_sorted(reports))
    table = table.replace_schema_metadata({KEY: json.dumps(as_data(description))})
    pq.write_table(table, draft, compression="zstd")
    os.replace(draft, path)


def read_description(path: Path) -> Description:
    """What a file says of itself."""
    if not path.is_file():
        raise RequestError(f"There is no file {path}.", hint="Name what `collect randomize` wrote.")
    require_parquet(path)
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowInvalid, OSError):
        raise RequestError(
            f"{path} is no Parquet file.", hint="Name what `collect randomize` wrote."
        ) from None
    if KEY not in metadata:
        raise RequestError(
            f"{path} does not say which operator made its reports.",
            hint="Give it with --operator OPERATOR.yaml.",
        )
    return of_data(path, metadata[KEY])


def as_data(description: Description) -> dict[str, Any]:
    """A description as plain data."""
    promise = description.promise
    terms = None
    if promise is not None:
        terms = {"prior": promise.prior, "posterior": promise.posterior, "group": promise.group}
    return {
        "format": FORMAT,
        "operator": notation.write(description.operator),
        "values": list(description.values),
        "column": description.column,
        "promise": terms,
    }


def of_data(path: Path, text: bytes | str) -> Description:
    """The description that was written."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise RequestError(f"{path} is of a later format.", hint="Read it with a later discreet.")
        terms, operator = data["promise"], notation.read(data["operator"])
        promise = None
        if terms is not None:
            promise = Promise(terms["prior"], terms["posterior"], group=terms["group"])
        values = tuple(str(value) for value in data["values"])
        if len(values) != named_codes(operator):
            raise ValueError
        return Description(operator=operator, values=values, column=str(data["column"]), promise=promise)
    except DiscreetError:
        raise
    except (ValueError, KeyError, TypeError):
        raise RequestError(
            f"What {path} says of its operator is damaged.", hint="Give it with --operator OPERATOR.yaml."
        ) from None


def named_codes(operator: Operator) -> int:
    """How many names a description has."""
    if isinstance(operator, BASKETS):
        return operator.items
    return 0 if isinstance(operator, MEANS) else operator.values


def require_parquet(path: Path) -> None:
    """Refuse a file that could not carry a description."""
    if path.suffix.lower() != ".parquet":
        raise RequestError(
            f"{path.name} is no Parquet file, and another kind does not carry its operator.",
            hint="Name a file that ends in .parquet.",
        )


def _sorted(reports: Reports) -> Reports:
    return np.sort(reports) if reports.ndim == 1 else reports[np.lexsort(reports.T[::-1])]
