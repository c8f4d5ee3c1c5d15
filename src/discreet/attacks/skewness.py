"""Skewness: a sensitive value is far commoner among the rows that may be a victim's than in the release.

Knows       the victim's quasi-identifiers, that the victim is in the release, and the release's own shares.
Learns      that a value is `factor` times as probable as for anybody else: in a class of half flu and half
            cancer, 50% if 1% of all have the flu.
Score       the share of people who are guessed right: by the value whose belief rose the most, if it rose by
            that factor, else by the commonest value of the release; the baseline is the success of these
            guesses by the release's shares. `precision` is the share of claims that are true.
Stopped by  t-closeness, β-likeness, δ-disclosure. Not by l-diversity, which may even cause it.

[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.claims import Claims, build_findings, count_right_people, describe_values
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import is_real


@dataclass(frozen=True, kw_only=True)
class Skewness:
    """Inference of the value that gained the most, if it became `factor` times as probable."""

    column: str
    factor: float = 2.0
    values: tuple[str, ...] = ()

    name: ClassVar[str] = "skewness"
    knows: ClassVar[str] = "the quasi-identifiers of a person in the release, and the release's shares"
    learns: ClassVar[str] = "that a sensitive value is far likelier than for others"
    stopped_by: ClassVar[str] = "t-closeness"

    def __post_init__(self) -> None:
        holds = is_real(self.factor) and self.factor > 1
        require_parameter(holds, self, "factor", self.factor, "a number above 1")

    def run(self, sets: MatchSets) -> Findings:
        """Claim the value whose belief rose the most, among `values` or among all."""
        shares, names = sets.shares(self.column), sets.names(self.column)
        unknown = [value for value in self.values if value not in names]
        if unknown:
            raise RequestError(
                f"attack: the release has no {self.column} {unknown[0]}.", hint="Name values that it shows."
            )
        matter = np.array([not self.values or name in self.values for name in names])
        entries = sets.counts(self.column).tocoo()
        posterior = entries.data / sets.rows[entries.row]
        gained = posterior >= self.factor * shares[entries.col]
        rises = np.where(gained & matter[entries.col], posterior - shares[entries.col], -1.0)
        order = np.lexsort((entries.col, -rises, entries.row))
        best = order[np.searchsorted(entries.row[order], np.arange(len(sets)))]
        best = best[(rises[best] > 0) & (sets.people > 0)]
        about, values = entries.row[best].astype(np.int64), entries.col[best].astype(np.int64)
        claims = Claims(
            set_ids=about,
            prior=shares[values],
            posterior=posterior[best],
            right_people=count_right_people(
                sets, self.column, about, posterior[best], lambda i, value: value == values[i]
            ),
            describe=describe_values(self.column, names, values),
        )
        largest = float((claims.posterior / claims.prior).max(initial=1.0))
        return build_findings(self, sets, claims, column=self.column, figures={"largest factor": largest})
