"""Height: the sum of the levels, whatever is suppressed [S01].

[S01]       Samarati, Protecting respondents' identities in microdata release, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.search.objectives.by_column import ByColumn
from discreet.anonymity.search.objectives.objective import Scale, Setting


@dataclass(frozen=True)
class Height:
    """The number of generalization steps."""

    name: ClassVar[str] = "height"
    weighted: ClassVar[bool] = True

    def over(self, setting: Setting) -> Scale:
        costs = [np.arange(float(column.hierarchy.height + 1)) for column in setting.columns]
        return ByColumn(setting=setting, costs=costs, extra=lambda *_: 0.0)
