"""Verbs whose results are released under the promise: planned, charged to the ledger, stored.

Each takes an open `Curator`, or a policy (its path, a `Policy` or a dict) or a frame, for which one is opened
and closed again; the other arguments are the fields of the verb's request. Repeating a request is free.

Frames      need `columns=`, which declares them, and may have a `person=` column, `rows_per_person=`, a
            `promise=` (by default from 1% to 5%), a `ledger=` and a `data_version=`. Without a ledger they
            are charged to that of the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal

from discreet.api.arguments import Names, list_names, refuse_invalid_arguments
from discreet.api.frame_sources import (
    FRAME_NAME,
    FrameTerms,
    Source,
    choose_table,
    find_question_table,
    open_curator,
    split_columns,
)
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real
from discreet.services.answers import Answer
from discreet.services.bounds.bounds_request import DEFAULT_FALSE_POSITIVES, DEFAULT_ORIGIN, BoundsRequest
from discreet.services.bounds.learn_bounds import LearnedBounds
from discreet.services.bounds.learn_bounds import learn_bounds as learn_requested_bounds
from discreet.services.bounds.policy_writer import require_writable_entry, write_bounds
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
from discreet.services.frames import is_frame
from discreet.services.itemsets import plan_itemsets_release
from discreet.services.plans import Plan
from discreet.services.policies import load_policy
from discreet.services.policy_values import Columns, PolicyForm, PromiseForm
from discreet.services.progress import ignore_progress
from discreet.services.stream import Stream
from discreet.services.stream import open_stream as open_requested_stream
from discreet.services.synthesize.synthesize_request import SynthesizeRequest
from discreet.services.synthesize.synthetic_results import SyntheticTable
from discreet.services.synthesize.synthetic_table import synthesize_table
from discreet.services.tabulate import plan_table_release
from discreet.services.train import TrainedModel, TrainRequest, train_private_model
from discreet.sql.expression_tree import Scalar


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
    confidence: Real | str = DEFAULT_CONFIDENCE,
    free: bool = False,
    fresh: bool = False,
    raw: bool = False,
    values: Sequence[Scalar | float] = (),
    columns: Columns | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    promise: PromiseForm | None = None,
    ledger: Path | str | None = None,
    data_version: str | None = None,
) -> Answer:
    """Return the answer to a question in SQL, with error bars, and charge its epsilon.

    Give `epsilon`, a `share` of the budget, or `within`, the largest error allowed. `curator.plan` tells
    beforehand what a question would cost. A frame stands for the table after FROM; `columns` declares those
    that the question uses: `(low, high)`, a list of values, a type, or a dict of a policy's entries.

    >>> import pyarrow as pa
    >>> rows = pa.table({"hours": [38, 45, 20], "sex": ["Female", "Male", "Female"]})
    >>> sql = "SELECT sex, AVG(hours) AS hours FROM df GROUP BY sex"
    >>> ask(rows, sql, columns={"hours": (1, 99), "sex": ["Female", "Male"]}, epsilon=0.5, ledger=":memory:")
    <Answer of 2 rows (sex, hours): epsilon 0.5 (entry 1)>
    >>> ask("sample/privacy.yaml", "SELECT COUNT(*) FROM census", epsilon=0.1)  # doctest: +SKIP
    <Answer of 1 row (count(*)): epsilon 0.1 (entry 1)>
    """
    terms = FrameTerms(
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        promise=promise,
        ledger=ledger,
        data_version=data_version,
    )
    name = find_question_table(question) if is_frame(source) else FRAME_NAME
    with open_curator(source, analyst, terms, name=name) as curator:
        return curator.ask(
            question,
            epsilon=epsilon,
            share=share,
            within=within,
            least_rows=least_rows,
            split=split,
            confidence=confidence,
            free=free,
            fresh=fresh,
            raw=raw,
            values=values,
        )


@refuse_invalid_arguments
def tabulate(
    source: Source,
    table: str | None = None,
    columns: Names | Columns = (),
    *,
    analyst: str | None = None,
    ranges: str | None = None,
    marginals: Sequence[Names] = (),
    bins: Mapping[str, int] | Sequence[str] | str | None = None,
    logarithmic: Names = (),
    epsilon: Real | None = None,
    delta: Real = 0,
    person: str | None = None,
    rows_per_person: int | None = None,
    promise: PromiseForm | None = None,
    ledger: Path | str | None = None,
    data_version: str | None = None,
) -> ReleasedCounts:
    """Return the noisy counts of all combinations of columns, of their marginals, or of a column's ranges.

    For a frame, `columns` declares them as in `ask`.

    >>> tabulate("sample/privacy.yaml", "census", ["sex", "income"], epsilon=0.2)  # doctest: +SKIP
    <ReleasedCounts of census, 4 rows: epsilon 0.2 (entry 1)>
    """
    declared, names = split_columns(source, columns, hidden=person)
    request = TabulateRequest(
        table=choose_table("tabulate", source, table),
        columns=() if declared is not None and (ranges or marginals) else names or (),
        ranges=ranges,
        marginals=_list_marginals(marginals),
        bins=parse_bins(bins),
        logarithmic=list_names("logarithmic", logarithmic),
        epsilon=epsilon,
        delta=delta,
    )
    terms = FrameTerms(
        columns=declared,
        person=person,
        rows_per_person=rows_per_person,
        promise=promise,
        ledger=ledger,
        data_version=data_version,
    )
    with open_curator(source, analyst, terms, name=request.table) as curator:
        return release_counts(curator, plan_table_release(curator, request))


def _list_marginals(marginals: Sequence[Names]) -> tuple[tuple[str, ...], ...]:
    fits = isinstance(marginals, Sequence) and not isinstance(marginals, str)
    require_parameter(fits, "tabulate", "marginals", marginals, "a list such as [['sex'], ['sex', 'age']]")
    return tuple(list_names("marginals", each) for each in marginals)


@refuse_invalid_arguments
def itemsets(
    source: Source,
    table: str | None = None,
    *,
    analyst: str | None = None,
    items: Names | None = None,
    threshold: float = 0.1,
    basis: int = DEFAULT_BASIS,
    largest: int = DEFAULT_LARGEST,
    epsilon: Real | None = None,
    delta: Real = 0,
    columns: Columns | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    promise: PromiseForm | None = None,
    ledger: Path | str | None = None,
    data_version: str | None = None,
) -> ReleasedCounts:
    """Return the sets of true-or-false columns that are true together in many rows.

    `threshold` is the least share of rows; `items` are the columns, by default all that are true or false.
    For a frame, `columns` declares them; without it, `items` are.

    >>> itemsets("baskets.yaml", "baskets", threshold=0.2, epsilon=0.5)  # doctest: +SKIP
    <ReleasedCounts of baskets, 7 rows: epsilon 0.5 (entry 1)>
    """
    if columns is None and items is not None and is_frame(source):
        columns = dict.fromkeys(list_names("items", items), bool)
    request = ItemsetsRequest(
        table=choose_table("itemsets", source, table),
        items=None if items is None else list_names("items", items),
        threshold=threshold,
        basis=basis,
        largest=largest,
        epsilon=epsilon,
        delta=delta,
    )
    terms = FrameTerms(
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        promise=promise,
        ledger=ledger,
        data_version=data_version,
    )
    with open_curator(source, analyst, terms, name=request.table) as curator:
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
    table: str | None = None,
    *,
    analyst: str | None = None,
    epsilon: Real | None = None,
    promise: tuple[float, float] | None = None,
    delta: Real = 0,
    quality: Literal["lean", "best"] = "lean",
    columns: Names | Columns | None = None,
    logarithmic: Names = (),
    earlier: Sequence[int] | Literal["all"] = (),
    person: str | None = None,
    rows_per_person: int | None = None,
    ledger: Path | str | None = None,
    data_version: str | None = None,
) -> SyntheticTable:
    """Return a table of made-up rows whose marginals are close to the real ones.

    The cost is `epsilon`, or that of `promise`, a (prior, posterior) of its own. `earlier` are ledger
    entries of answers that the rows must be consistent with. For a frame, `columns` declares them as in
    `ask`.

    >>> synthesize("sample/privacy.yaml", "census", columns=["sex", "income"], epsilon=0.5)  # doctest: +SKIP
    <SyntheticTable of census, 48,842 rows (sex, income): epsilon 0.5 (entry 1)>
    """
    declared, names = split_columns(source, columns, hidden=person)
    request = SynthesizeRequest(
        table=choose_table("synthesize", source, table),
        epsilon=epsilon,
        promise=promise,
        delta=delta,
        quality=quality,
        columns=names,
        logarithmic=list_names("logarithmic", logarithmic),
        earlier=earlier,
    )
    terms = FrameTerms(
        columns=declared,
        person=person,
        rows_per_person=rows_per_person,
        ledger=ledger,
        data_version=data_version,
    )
    with open_curator(source, analyst, terms, name=request.table) as curator:
        return synthesize_table(curator, request, ignore_progress)


@refuse_invalid_arguments
def train(
    source: Source,
    kind: str,
    table: str | None = None,
    target: str | None = None,
    *,
    analyst: str | None = None,
    epsilon: Real | None = None,
    delta: Real = 0,
    features: Names | None = None,
    logarithmic: Names = (),
    depth: int | None = None,
    criterion: str | None = None,
    selection: str | None = None,
    columns: Columns | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    promise: PromiseForm | None = None,
    ledger: Path | str | None = None,
    data_version: str | None = None,
) -> TrainedModel:
    """Train a model of a column on the rows of a table, which stay in the engine.

    `kind` is "tree", "forest", "bayes" or "regression"; the estimators of `discreet.mining` train on rows
    that are at hand. For a frame, `columns` declares them as in `ask`.

    >>> train("sample/privacy.yaml", "tree", "census", "income", epsilon=0.5)  # doctest: +SKIP
    <TrainedModel tree over census: epsilon 0.5 (entry 1)>
    """
    if target is None:
        raise InvalidParameterError("train: no column to learn is named.", hint="Give its name: `target=`.")
    request = TrainRequest(
        kind=kind,
        table=choose_table("train", source, table),
        target=target,
        epsilon=epsilon,
        delta=delta,
        features=None if features is None else list_names("features", features),
        logarithmic=list_names("logarithmic", logarithmic),
        depth=depth,
        criterion=criterion,
        selection=selection,
    )
    terms = FrameTerms(
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        promise=promise,
        ledger=ledger,
        data_version=data_version,
    )
    with open_curator(source, analyst, terms, name=request.table) as curator:
        return train_private_model(curator, request, ignore_progress)


@refuse_invalid_arguments
def learn_bounds(
    source: Curator | PolicyForm,
    table: str,
    column: str,
    *,
    analyst: str | None = None,
    values: bool = False,
    epsilon: Real | None = None,
    false_positives: Real | str = DEFAULT_FALSE_POSITIVES,
    origin: date | str = DEFAULT_ORIGIN,
    write: bool = False,
) -> LearnedBounds:
    """Learn between which bounds a column's numbers or dates lie, for its entry in the policy.

    With `values`, learn the frequent values of a category. `write` writes what was learned into the policy
    file that `source` names, with the entry of the ledger that it came from. `false_positives` is the chance
    that a bound is too wide, `origin` the day near which the bounds of dates are finest.

    >>> learn_bounds("census.yaml", "census", "age", epsilon=0.2, write=True)  # doctest: +SKIP
    <LearnedBounds of census, age: from 17 to 128: epsilon 0.2 (entry 1)>
    """
    request = BoundsRequest(
        table=table,
        column=column,
        values=values,
        epsilon=epsilon,
        false_positives=false_positives,  # type: ignore[arg-type]  # a text is read as a probability
        origin=origin,  # type: ignore[arg-type]
    )
    file = Path(source) if isinstance(source, str | Path) else None
    if write and file is None:
        raise InvalidParameterError("`write=` needs the path of a policy file as `source=`.")
    opened = source if file is None else load_policy(file, allow_open_bounds=True)
    with open_curator(opened, analyst, FrameTerms(), name=table) as curator:
        if write and file is not None:
            require_writable_entry(file, table, column)
        found = learn_requested_bounds(curator, request)
    if write and file is not None:
        write_bounds(found, file)
    return found
