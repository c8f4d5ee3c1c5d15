"""Files of reports, with the operator that made them in the file's metadata.

Parquet     One row per client, in the columns of the operator's form. The key `discreet` of the schema's
            metadata holds the operator, the values or items in the order of their codes, the column's name
            and the promise, so that the file is all that an estimate needs.
Order       Reports are sorted, so that they do not reveal the order in which people answered.
Atomic      A file is written under a draft name and renamed once it is complete.
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

from discreet.accounting.belief_sentences import describe_report_belief
from discreet.belief import Promise, highest_posterior
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.output_files import get_draft_path, make_unwritable_error, remove_leftovers, require_output
from discreet.local import BASKET_OPERATORS, MEAN_OPERATORS, operator_json
from discreet.local.operator import Operator
from discreet.local.report_formats import Reports

METADATA_KEY, FORMAT_VERSION = b"discreet", 1
DEFAULT_PRIOR = 0.01


@dataclass(frozen=True, kw_only=True)
class ReportDescription:
    """The origin of reports: an operator, and the names of its codes or, for baskets, of its items.

    The numbers of a mean have no names.
    """

    operator: Operator
    values: tuple[str, ...]
    column: str
    promise: Promise | None = None

    @property
    def belief_bound(self) -> tuple[float, float]:
        """A prior, and the highest posterior after one report."""
        prior, group = self.prior_and_group
        return prior, highest_posterior(prior, self.operator.epsilon * group)

    @property
    def prior_and_group(self) -> tuple[float, int]:
        """The prior for which beliefs are stated, and the size of the group it protects."""
        return (self.promise.prior, self.promise.group) if self.promise else (DEFAULT_PRIOR, 1)

    @property
    def belief_sentence(self) -> str:
        """The belief as a sentence."""
        prior, posterior = self.belief_bound
        return describe_report_belief(prior, posterior, self.column)


@contextmanager
def open_draft(path: Path) -> Iterator[Path]:
    """Create an empty draft file beside `path`, and remove it in the end if it was not renamed.

    It is created at once, so that an unwritable folder is refused before anything is charged.
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


def write_reports(path: Path, draft: Path, description: ReportDescription, reports: Reports) -> None:
    """Write reports with their description atomically."""
    table = description.operator.report_format.to_arrow(_sort_reports(reports))
    table = table.replace_schema_metadata({METADATA_KEY: json.dumps(description_to_json(description))})
    pq.write_table(table, draft, compression="zstd")
    os.replace(draft, path)


def read_description(path: Path) -> ReportDescription:
    """Return the description in a file's metadata."""
    if not path.is_file():
        raise RequestError(f"There is no file {path}.", hint="Name a file that `collect randomize` wrote.")
    require_parquet(path)
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowInvalid, OSError):
        raise RequestError(
            f"{path} is not a Parquet file.", hint="Name a file that `collect randomize` wrote."
        ) from None
    if METADATA_KEY not in metadata:
        raise RequestError(
            f"{path} does not say which operator made its reports.",
            hint="Give it with `operator=OPERATOR.yaml`.",
        )
    return description_from_json(path, metadata[METADATA_KEY])


def description_to_json(description: ReportDescription) -> dict[str, Any]:
    """Return a description as a JSON object."""
    promise = description.promise
    terms = None
    if promise is not None:
        terms = {"prior": promise.prior, "posterior": promise.posterior, "group": promise.group}
    return {
        "format": FORMAT_VERSION,
        "operator": operator_json.operator_to_json(description.operator),
        "values": list(description.values),
        "column": description.column,
        "promise": terms,
    }


def description_from_json(path: Path, text: bytes | str) -> ReportDescription:
    """Return the description of a JSON text; `path` is the file it was read from."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT_VERSION:
            raise RequestError(f"{path} is of a later format.", hint="Read it with a later discreet.")
        terms, operator = data["promise"], operator_json.operator_from_json(data["operator"])
        promise = None
        if terms is not None:
            promise = Promise(terms["prior"], terms["posterior"], group=terms["group"])
        values = tuple(str(value) for value in data["values"])
        if len(values) != count_names(operator):
            raise ValueError
        return ReportDescription(
            operator=operator, values=values, column=str(data["column"]), promise=promise
        )
    except DiscreetError:
        raise
    except (ValueError, KeyError, TypeError):
        raise RequestError(
            f"The description of the operator in {path} is damaged.",
            hint="Give it with `operator=OPERATOR.yaml`.",
        ) from None


def count_names(operator: Operator) -> int:
    """Return the number of names in a description: of items or values, and none for a mean."""
    if isinstance(operator, BASKET_OPERATORS):
        return operator.items
    return 0 if isinstance(operator, MEAN_OPERATORS) else operator.values


def require_parquet(path: Path) -> None:
    """Raise if a file's format cannot hold a description."""
    if path.suffix.lower() != ".parquet":
        raise RequestError(
            f"{path.name} is not a Parquet file, and other formats cannot store the operator.",
            hint="Name a file that ends in .parquet.",
        )


def _sort_reports(reports: Reports) -> Reports:
    return np.sort(reports) if reports.ndim == 1 else reports[np.lexsort(reports.T[::-1])]
