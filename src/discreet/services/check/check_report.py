"""The report of a check: what was counted of every table and column, with verdicts and fixes.

Bias        what clamping and leaving out rows does to counts, sums and means. No error bar shows it: noise
            is added to the clamped and bounded values.

Everything in it is computed from real data, and is for the custodian alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core.column_entry import Column
from discreet.core.html_summary import build_note, build_summary, build_table
from discreet.engines.column_profile import ColumnProfile
from discreet.engines.sources import UnreadRows
from discreet.services.check.verdicts import (
    CommonText,
    Finding,
    LinkCheck,
    Verdict,
    find_worst,
    join_texts,
)

BARS = "▁▂▃▄▅▆▇█"
PRIVATE = "Computed from the data without noise: for the custodian alone."


@dataclass(frozen=True, kw_only=True)
class Bias:
    """Count, sum and mean of a column: in the data, and after clamping and bounding, without noise."""

    count: tuple[float, float]
    sum: tuple[float, float]

    @property
    def mean(self) -> tuple[float, float] | None:
        """The mean in the data and after; None where there are no values."""
        if not all(self.count):
            return None
        return self.sum[0] / self.count[0], self.sum[1] / self.count[1]


@dataclass(frozen=True, kw_only=True)
class PeopleCheck:
    """The people of a table: how many, how many have too many rows, and the rows that are left out for it.

    `unnamed` rows have no person, and are left out, too.
    """

    people: int
    bound: int
    over: int
    left_out: int
    most: int
    unnamed: int


@dataclass(frozen=True, kw_only=True)
class ColumnCheck:
    """One column: its profile, its findings and what follows from them."""

    name: str
    column: Column
    rows: int
    profile: ColumnProfile
    findings: tuple[Finding, ...] = ()
    commonest: tuple[CommonText, ...] = ()
    link: LinkCheck | None = None
    bias: Bias | None = None

    @property
    def verdict(self) -> Verdict:
        return find_worst(each.verdict for each in self.findings)

    @property
    def text(self) -> str:
        """All findings, in words."""
        return join_texts(self.findings)

    @property
    def fix(self) -> str:
        """The fix of the worst finding; empty if there is none."""
        return self.findings[0].fix if self.findings else ""

    @property
    def sparkline(self) -> str:
        """Bars of where the values fall: below the bounds, in equal parts between them, and above.

        >>> profile = ColumnProfile(missing=0, clamped_low=1, bins=(0, 2, 4, 8, 4, 2, 0, 0), clamped_high=0)
        >>> ColumnCheck(name="age", column=Column(), rows=21, profile=profile).sparkline
        '▁│ ▂▄█▄▂  │ '
        """
        if not self.profile.bins:
            return ""
        counts = (self.profile.clamped_low, *self.profile.bins, self.profile.clamped_high)
        most = max(counts) or 1
        below, *bins, above = (_draw_bar(count, most) for count in counts)
        return f"{below}│{''.join(bins)}│{above}"

    def get_share(self, count: int) -> float:
        """Return a number of this column's rows as a share of all."""
        return count / self.rows if self.rows else 0.0


def _draw_bar(count: int, most: int) -> str:
    return BARS[max(0, -(-count * len(BARS) // most) - 1)] if count else " "


@dataclass(frozen=True, kw_only=True)
class TableCheck:
    """One table: its rows, those that could not be read, its people, its columns.

    A live one, of a database or a program, has no digest of its contents to which an acceptance is bound.
    """

    name: str
    rows: int
    unread: UnreadRows
    columns: tuple[ColumnCheck, ...]
    people: PeopleCheck | None = None
    findings: tuple[Finding, ...] = ()
    accepted: bool = False
    is_live: bool = False

    @property
    def verdict(self) -> Verdict:
        return find_worst(
            [each.verdict for each in self.findings] + [column.verdict for column in self.columns]
        )

    @property
    def summary(self) -> str:
        """One sentence on the table."""
        if self.verdict is Verdict.FITS:
            return f"{self.name}: {self.rows:,} rows fit the policy."
        wrong = [f"{each.name} ({each.text})" for each in self.columns if each.findings]
        parts = [*(each.text for each in self.findings), *wrong]
        beyond = ", more than at_most allows" if self.verdict is Verdict.EXCEEDS else ""
        return f"{self.name}: {self.rows:,} rows; not as the policy says{beyond}: {', '.join(parts)}."


@dataclass(frozen=True, kw_only=True, repr=False)
class DataCheck:
    """The tables of a policy that were checked, each with its columns, findings and fixes."""

    tables: tuple[TableCheck, ...]

    def __repr__(self) -> str:
        """Return the verdict of each table; the columns are for the notebook's table."""
        told = ", ".join(f"{table.name} {table.verdict.value}" for table in self.tables)
        return f"<DataCheck: {told}; for the custodian alone>"

    def _repr_html_(self) -> str:
        return build_summary(*map(_build_html_table, self.tables), build_note(PRIVATE))

    @property
    def verdict(self) -> Verdict:
        return find_worst(table.verdict for table in self.tables)


def _build_html_table(table: TableCheck) -> str:
    """Return the columns of a table, those with findings first, and the findings of the table itself."""
    unread = f", {table.unread.count:,} not read" if table.unread.count else ""
    columns = sorted(table.columns, key=lambda each: not each.findings)
    return build_table(
        ["column", "values", "verdict", "finding", "fix"],
        [[each.name, each.sparkline, each.verdict.value, each.text, each.fix] for each in columns],
        caption=f"{table.name}: {table.rows:,} rows{unread}, {table.verdict.value}",
    ) + "".join(build_note(f"{each.text}. {each.fix}") for each in table.findings)
