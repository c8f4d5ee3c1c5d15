"""Verbs whose results are released under the promise: planned, charged to the ledger, stored.

Each takes an open `Curator`, or a policy (its path or a `Policy`) for which one is opened and closed again;
the other arguments are the fields of the verb's request. Repeating a request is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from discreet.api.arguments import Names, list_names, refuse_invalid_arguments
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter, shorten_value
from discreet.core.number_checks import Real
from discreet.core.policy import Policy
from discreet.services.answers import Answer
from discreet.services.count_publication import ReleasedCounts, release_counts
from discreet.services.count_requests import (
    DEFAULT_BASIS,
    DEFAULT_LARGEST,
    ItemsetsRequest,
    StreamRequest,
    TabulateRequest,
    parse_bins,
)
from discreet.services.curator import Curator
from discreet.services.itemsets import plan_itemsets_release
from discreet.services.plans import Plan
from discreet.services.progress import ignore_progress
from discreet.services.stream import Stream
from discreet.services.stream import open_stream as open_requested_stream
from discreet.services.synthesize.synthesize_request import SynthesizeRequest
from discreet.services.synthesize.synthetic_results import SyntheticTable
from discreet.services.synthesize.synthetic_table import synthesize_table
from discreet.services.tabulate import plan_table_release
from discreet.services.train import TrainedModel, TrainRequest, train_private_model
from discreet.sql.expression_tree import Scalar
from discreet.sql.planner import CONFIDENCE

Source = Curator | Policy | Path | str
"""An open curator, a policy, or the path of a policy file."""


@refuse_invalid_arguments
def ask(
    source: Source,
    question: str | Plan,
    *,
    analyst: str | None = None,
    epsilon: Real | None = None,
    share: Real | str | None = None,
    within: Real | str | None = None,
    least_rows: int | None = None,
    split: Mapping[str, Real] | None = None,
    confidence: Real | str = CONFIDENCE,
    raw: bool = False,
    values: Sequence[Scalar | float] = (),
) -> Answer:
    """Return the answer to a question in SQL, with error bars, and charge its epsilon.

    Give `epsilon`, a `share` of the budget, or `within`, the largest error allowed. `curator.plan` tells
    beforehand what a question would cost.

    >>> sql = "SELECT sex, COUNT(*) AS people FROM census GROUP BY sex"
    >>> ask("sample/privacy.yaml", sql, epsilon=0.1)  # doctest: +SKIP
    <Answer of 2 rows (sex, people): epsilon 0.1 (entry 1)>
    """
    with _open_curator(source, analyst) as curator:
        return curator.ask(
            question,
            epsilon=epsilon,
            share=share,
            within=within,
            least_rows=least_rows,
            split=split,
            confidence=confidence,
            raw=raw,
            values=values,
        )


@refuse_invalid_arguments
def tabulate(
    source: Source,
    table: str,
    columns: Names = (),
    *,
    analyst: str | None = None,
    ranges: str | None = None,
    marginals: Sequence[Names] = (),
    bins: Mapping[str, int] | Sequence[str] | str | None = None,
    logarithmic: Names = (),
    epsilon: Real | None = None,
    delta: Real = 0,
) -> ReleasedCounts:
    """Return the noisy counts of all combinations of columns, of their marginals, or of a column's ranges.

    >>> tabulate("sample/privacy.yaml", "census", ["sex", "income"], epsilon=0.2)  # doctest: +SKIP
    <ReleasedCounts of census, 4 rows: epsilon 0.2 (entry 1)>
    """
    request = TabulateRequest(
        table=table,
        columns=list_names("columns", columns),
        ranges=ranges,
        marginals=_list_marginals(marginals),
        bins=parse_bins(bins),
        logarithmic=list_names("logarithmic", logarithmic),
        epsilon=epsilon,
        delta=delta,
    )
    with _open_curator(source, analyst) as curator:
        return release_counts(curator, plan_table_release(curator, request))


def _list_marginals(marginals: Sequence[Names]) -> tuple[tuple[str, ...], ...]:
    fits = isinstance(marginals, Sequence) and not isinstance(marginals, str)
    require_parameter(fits, "tabulate", "marginals", marginals, "a list such as [['sex'], ['sex', 'age']]")
    return tuple(list_names("marginals", each) for each in marginals)


@refuse_invalid_arguments
def itemsets(
    source: Source,
    table: str,
    *,
    analyst: str | None = None,
    items: Names | None = None,
    threshold: float = 0.1,
    basis: int = DEFAULT_BASIS,
    largest: int = DEFAULT_LARGEST,
    epsilon: Real | None = None,
    delta: Real = 0,
) -> ReleasedCounts:
    """Return the sets of true-or-false columns that are true together in many rows.

    `threshold` is the least share of rows; `items` are the columns, by default all that are true or false.

    >>> itemsets("baskets.yaml", "baskets", threshold=0.2, epsilon=0.5)  # doctest: +SKIP
    <ReleasedCounts of baskets, 7 rows: epsilon 0.5 (entry 1)>
    """
    request = ItemsetsRequest(
        table=table,
        items=None if items is None else list_names("items", items),
        threshold=threshold,
        basis=basis,
        largest=largest,
        epsilon=epsilon,
        delta=delta,
    )
    with _open_curator(source, analyst) as curator:
        return release_counts(curator, plan_itemsets_release(curator, request))


@refuse_invalid_arguments
def open_stream(
    curator: Curator,
    table: str,
    columns: Names,
    *,
    questions: int,
    method: str | None = None,
    updates: int | None = None,
    bins: Mapping[str, int] | Sequence[str] | str | None = None,
    epsilon: Real | None = None,
    delta: Real = 0,
) -> Stream:
    """Open a stream of counting questions that are not known yet; all of them are charged now.

    `stream.ask(sql)` answers one question after the other. Without a `method`, the one with the least error
    is used: plain noise, the median mechanism or multiplicative weights.

    >>> with Curator.open("sample/privacy.yaml") as curator:  # doctest: +SKIP
    ...     stream = open_stream(curator, "census", ["sex", "income"], questions=500, epsilon=0.5)
    ...     women = stream.ask("SELECT COUNT(*) FROM census WHERE sex = 'Female'")
    """
    require_parameter(isinstance(curator, Curator), "open_stream", "curator", curator, "an open Curator")
    return open_requested_stream(
        curator,
        StreamRequest(
            table=table,
            columns=list_names("columns", columns),
            method=method,
            questions=questions,
            updates=updates,
            bins=parse_bins(bins),
            epsilon=epsilon,
            delta=delta,
        ),
    )


@refuse_invalid_arguments
def synthesize(
    source: Source,
    table: str,
    *,
    analyst: str | None = None,
    epsilon: Real | None = None,
    promise: tuple[float, float] | None = None,
    delta: Real = 0,
    quality: Literal["lean", "best"] = "lean",
    columns: Names | None = None,
    logarithmic: Names = (),
    earlier: Sequence[int] | Literal["all"] = (),
) -> SyntheticTable:
    """Return a table of made-up rows whose marginals are close to the real ones.

    The cost is `epsilon`, or that of `promise`, a (prior, posterior) of its own. `earlier` are ledger
    entries of answers that the rows must be consistent with.

    >>> synthesize("sample/privacy.yaml", "census", columns=["sex", "income"], epsilon=0.5)  # doctest: +SKIP
    <SyntheticTable of census, 48,842 rows (sex, income): epsilon 0.5 (entry 1)>
    """
    request = SynthesizeRequest(
        table=table,
        epsilon=epsilon,
        promise=promise,
        delta=delta,
        quality=quality,
        columns=None if columns is None else list_names("columns", columns),
        logarithmic=list_names("logarithmic", logarithmic),
        earlier=earlier,
    )
    with _open_curator(source, analyst) as curator:
        return synthesize_table(curator, request, ignore_progress)


@refuse_invalid_arguments
def train(
    source: Source,
    kind: str,
    table: str,
    target: str,
    *,
    analyst: str | None = None,
    epsilon: Real | None = None,
    delta: Real = 0,
    features: Names | None = None,
    logarithmic: Names = (),
    depth: int | None = None,
    criterion: str | None = None,
    selection: str | None = None,
) -> TrainedModel:
    """Train a model of a column on the rows of a table, which stay in the engine.

    `kind` is "tree", "forest", "bayes" or "regression"; the estimators of `discreet.mining` train on rows
    that are at hand.

    >>> train("sample/privacy.yaml", "tree", "census", "income", epsilon=0.5)  # doctest: +SKIP
    <TrainedModel tree over census: epsilon 0.5 (entry 1)>
    """
    request = TrainRequest(
        kind=kind,
        table=table,
        target=target,
        epsilon=epsilon,
        delta=delta,
        features=None if features is None else list_names("features", features),
        logarithmic=list_names("logarithmic", logarithmic),
        depth=depth,
        criterion=criterion,
        selection=selection,
    )
    with _open_curator(source, analyst) as curator:
        return train_private_model(curator, request, ignore_progress)


@contextmanager
def _open_curator(source: Source, analyst: str | None) -> Iterator[Curator]:
    """Lend a curator: the one that was given, which stays open, or one for this call."""
    if isinstance(source, Curator):
        if analyst not in (None, source.analyst):
            raise RequestError(
                f"The curator is open for {source.analyst}, not for {analyst}.",
                hint="Leave `analyst=` out, or open a curator for that analyst.",
            )
        yield source
    elif isinstance(source, Policy):
        with Curator.open_policy(source, analyst=analyst) as curator:
            yield curator
    elif not isinstance(source, str | Path):
        raise InvalidParameterError(
            f"`source=` must be a curator, a policy or its path; got {shorten_value(source)}."
        )
    else:
        with Curator.open(source, analyst=analyst) as curator:
            yield curator
