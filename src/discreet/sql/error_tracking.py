"""Which columns of an answer keep an error bar, from the question alone.

A measurement has an interval: it covers the group's true value with the stated confidence. What a question
does with the released table decides whether it still holds for what is shown:

Kept        a measure that is only renamed, in rows that are all shown, in any order, or that are selected by
            their keys (WHERE, HAVING or LIMIT that read keys alone).
Selected    rows that HAVING, WHERE or LIMIT select by noisy values are those whose noise was large. Of the
            top 3 of 656 groups none was covered by its ± 60. So no column of such an answer has one.
Aggregated  a total over the groups of an answer has the errors of all of them.
Derived     arithmetic, CASE and functions carry errors over in a way that is not computed.

A rank error (MEDIAN and the others that pick a value) is lost in the same places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.sql.expressions import Column, Expression, columns
from discreet.sql.question import After, Question

SELECTED = "{clause} selects rows by noisy values, and error bars do not hold for rows selected that way"
AGGREGATED = "it is computed over the noisy values of several groups, whose errors add up"
DERIVED = "it is computed from noisy values, and its error bar is not known"
UNSHOWN = "the answer does not show it"


@dataclass(frozen=True, kw_only=True)
class ColumnErrors:
    """The columns of an answer that hold noise.

    `measures` are those that are a measure, renamed at most, each with the measure's column; `missing` says
    why a column has no error bar.
    """

    measures: Mapping[str, str]
    missing: Mapping[str, str]

    @property
    def kept(self) -> dict[str, str]:
        """The measures whose error bar holds for what is shown."""
        return {name: column for name, column in self.measures.items() if name not in self.missing}

    def explain_missing(self, column: str) -> str | None:
        """Return why a measure's error does not appear in the answer; None where it does."""
        if column in self.kept.values():
            return None
        return next(iter(self.missing.values()), UNSHOWN)


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """What a noisy column is: a measure as it was released, or something else and why it has no error bar."""

    measure: str | None = None
    reason: str = ""


def track_errors(question: Question) -> ColumnErrors:
    """Follow the measures of a question through the SELECTs over its released table."""
    noisy = {column.name: _Noise(measure=column.name) for column, _ in question.measures}
    selected, in_noisy_order = "", False
    for place, stage in enumerate(question.after):
        before = _aggregate(stage, noisy) if stage.totals or stage.keys else noisy
        if stage.having is not None and _reads(stage.having, before):
            selected = selected or SELECTED.format(clause="HAVING" if place == 0 else "WHERE or HAVING")
        # an outer LIMIT cuts rows in the order that an inner query has left them in
        in_noisy_order |= any(_reads(by, before) for by, _ in stage.order)
        if stage.limit is not None and in_noisy_order:
            selected = selected or SELECTED.format(clause="ORDER BY … LIMIT")
        noisy = _project(stage.outputs, before)
    return ColumnErrors(
        measures={name: each.measure for name, each in noisy.items() if each.measure is not None},
        missing={name: selected or each.reason for name, each in noisy.items() if selected or each.reason},
    )


def _aggregate(stage: After, noisy: Mapping[str, _Noise]) -> dict[str, _Noise]:
    """The columns that an outer aggregate works on: totals t0, t1 …, and the keys g0, g1 … that hold noise.

    Every total holds some: even the number of rows, where groups were selected privately.
    """
    keys = {f"g{place}" for place, key in enumerate(stage.keys) if _reads(key, noisy)}
    return dict.fromkeys(keys | {total[0].name for total in stage.totals}, _Noise(reason=AGGREGATED))


def _project(outputs: Iterable[tuple[str, Expression]], noisy: Mapping[str, _Noise]) -> dict[str, _Noise]:
    found = {}
    for name, expression in outputs:
        if isinstance(expression, Column) and expression.name in noisy:
            found[name] = noisy[expression.name]
        elif _reads(expression, noisy):
            found[name] = _Noise(reason=DERIVED)
    return found


def _reads(expression: Expression, noisy: Mapping[str, _Noise]) -> bool:
    return any(column.name in noisy for column in columns(expression))
