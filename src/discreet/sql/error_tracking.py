"""Error tracking: which columns of an answer keep an error bar, from the query alone.

A measurement has an interval that covers the group's true value with the stated confidence. Post-processing
of the released table decides whether it still holds for the answer:

Kept        a measure that is at most renamed, in rows that are all shown, in any order, or are selected by
            their keys (WHERE, HAVING or LIMIT that read keys alone).
Selected    rows that HAVING, WHERE or LIMIT select by noisy values are those whose noise was large. Of the
            top 3 of 656 groups none was covered by its ± 60. So no column of such an answer has an error bar.
Aggregated  a total over the groups of an answer adds up the errors of all of them.
Derived     the errors of arithmetic, CASE and functions of measures are not computed.

A rank error (of MEDIAN and other selected values) is lost in the same cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.sql.expression_tree import Column, Expression, find_columns
from discreet.sql.query import PostProcessingStage, Query

SELECTED = "{clause} selects rows by noisy values, and error bars do not hold for rows selected that way"
AGGREGATED = "it is computed over the noisy values of several groups, whose errors add up"
DERIVED = "it is computed from noisy values, and its error bar is not known"
UNSHOWN = "the answer does not show it"


@dataclass(frozen=True, kw_only=True)
class ColumnErrors:
    """The noisy columns of an answer.

    `measures` maps columns that are measures, possibly renamed, to the measure's column; `missing_reasons`
    says why a column has no error bar.
    """

    measures: Mapping[str, str]
    missing_reasons: Mapping[str, str]

    @property
    def measures_with_intervals(self) -> dict[str, str]:
        """Measures whose error bar holds in the answer."""
        return {name: column for name, column in self.measures.items() if name not in self.missing_reasons}

    def explain_missing(self, column: str) -> str | None:
        """Return why a measure's error does not appear in the answer; None where it does."""
        if column in self.measures_with_intervals.values():
            return None
        return next(iter(self.missing_reasons.values()), UNSHOWN)


@dataclass(frozen=True, kw_only=True)
class _NoisyColumn:
    """A noisy column: a measure as released, or another value and the reason why it has no error bar."""

    measure: str | None = None
    reason: str = ""


def track_errors(question: Query) -> ColumnErrors:
    """Follow the measures of a question through the SELECTs over its released table."""
    noisy = {column.name: _NoisyColumn(measure=column.name) for column, _ in question.measures}
    selected, in_noisy_order = "", False
    for place, stage in enumerate(question.post_processing):
        before = _track_aggregates(stage, noisy) if stage.totals or stage.keys else noisy
        if stage.having is not None and _reads_noise(stage.having, before):
            selected = selected or SELECTED.format(clause="HAVING" if place == 0 else "WHERE or HAVING")
        # an outer LIMIT keeps the order of an inner ORDER BY
        in_noisy_order |= any(_reads_noise(by, before) for by, _ in stage.order)
        if stage.limit is not None and in_noisy_order:
            selected = selected or SELECTED.format(clause="ORDER BY … LIMIT")
        noisy = _track_outputs(stage.outputs, before)
    return ColumnErrors(
        measures={name: each.measure for name, each in noisy.items() if each.measure is not None},
        missing_reasons={
            name: selected or each.reason for name, each in noisy.items() if selected or each.reason
        },
    )


def _track_aggregates(
    stage: PostProcessingStage, noisy: Mapping[str, _NoisyColumn]
) -> dict[str, _NoisyColumn]:
    """Return the noisy columns of an outer aggregate: totals t0, t1 …, and noisy keys among g0, g1 ….

    Every total is noisy, even the number of rows: partition selection may have chosen the groups.
    """
    keys = {f"g{place}" for place, key in enumerate(stage.keys) if _reads_noise(key, noisy)}
    return dict.fromkeys(keys | {total[0].name for total in stage.totals}, _NoisyColumn(reason=AGGREGATED))


def _track_outputs(
    outputs: Iterable[tuple[str, Expression]], noisy: Mapping[str, _NoisyColumn]
) -> dict[str, _NoisyColumn]:
    found = {}
    for name, expression in outputs:
        if isinstance(expression, Column) and expression.name in noisy:
            found[name] = noisy[expression.name]
        elif _reads_noise(expression, noisy):
            found[name] = _NoisyColumn(reason=DERIVED)
    return found


def _reads_noise(expression: Expression, noisy: Mapping[str, _NoisyColumn]) -> bool:
    return any(column.name in noisy for column in find_columns(expression))
