"""Height: the sum of the levels, whatever is suppressed [S01].

[S01]       Samarati, Protecting respondents' identities in microdata release, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.search.objectives.objective import ColumnSumObjective, SearchSetting, TableObjective


@dataclass(frozen=True)
class Height:
    """The number of generalization steps."""

    name: ClassVar[str] = "height"
    weighted: ClassVar[bool] = True

    def for_table(self, setting: SearchSetting) -> TableObjective:
        costs = [np.arange(float(column.hierarchy.height + 1)) for column in setting.columns]
        return ColumnSumObjective(setting=setting, costs=costs, extra=lambda *_: 0.0)
