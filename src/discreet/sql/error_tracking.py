"""Error tracking: which columns of an answer have an error bar, of which kind, and why others have none.

A measurement has an interval that covers each group's true value with the stated confidence. What
post-processing does to it follows from the query alone (`sql.error_plan`):

Kept        a measure that is at most renamed, in rows that are selected by their keys alone.
Computed    totals, differences, shares, means and monotone functions have the law of what they are.
Selected    rows that HAVING, WHERE or LIMIT select by noisy values are those whose noise was large: of the
            top 3 of 656 groups none was covered by the ± 60 of a single group. They have the interval that
            holds for all candidates at once, ± 189, and its kind is `all_rows`.
Otherwise   there is none, and the reason is said.

A rank error (of MEDIAN and other selected values) holds for rows that noise did not select, and for nothing
that is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.sql.error_expressions import DERIVED
from discreet.sql.error_plan import ErrorPlan

UNSHOWN = "the answer does not show it"


@dataclass(frozen=True, kw_only=True)
class ColumnErrors:
    """The noisy columns of an answer.

    `measures` maps columns that are measures, possibly renamed, to the measure's column; `interval_kinds`
    has the columns with intervals, measures or not, and whether each row's holds or all together;
    `missing_reasons` says why a column has no error bar.
    """

    measures: Mapping[str, str]
    interval_kinds: Mapping[str, str]
    missing_reasons: Mapping[str, str]

    @property
    def measures_with_intervals(self) -> dict[str, str]:
        """Measures whose error bar holds in the answer."""
        return {name: column for name, column in self.measures.items() if name in self.interval_kinds}

    def explain_missing(self, column: str) -> str | None:
        """Return why a measure's error does not appear in the answer; None where it does."""
        if column in self.measures_with_intervals.values():
            return None
        shown = [name for name, measure in self.measures.items() if measure == column]
        reasons = [self.missing_reasons[name] for name in shown] or list(self.missing_reasons.values())
        return next(iter(reasons), UNSHOWN)


def track_errors(plan: ErrorPlan, prefixes: Mapping[str, str] | None = None) -> ColumnErrors:
    """Return the noisy columns of an answer by its error plan; `prefixes` are those of measures, by table."""
    noisy = plan.noisy_columns
    measures = {each.name: each.measure for each in noisy if each.measure is not None}
    return ColumnErrors(
        measures={
            name: f"{(prefixes or {}).get(table, '')}{column}" for name, (table, column) in measures.items()
        },
        interval_kinds={each.name: each.interval_kind for each in noisy if each.has_interval},
        missing_reasons={each.name: each.reason or DERIVED for each in noisy if not each.has_interval},
    )
