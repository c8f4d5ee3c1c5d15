"""Private multiplicative weights' knowledge: one distribution over the cells, moved by what was released.

Weights     x: at first uniform. A question q is answered by n x(q), n being the number of rows.
Hardness    |f(D) - n x(q)|, in whole rows; hard from the plan's threshold on. The estimate n x(q) follows
            from what was released, so one person moves it by at most R.
Hard        a noisy count a; x is multiplied by e where q holds, and normalized. e is the ratio of the odds of
            a / n and of x(q), after which x answers q by a. Then earlier counts are gone through again, a few
            times. If a is right, a step lowers the relative entropy of x from the data by that of a / n from
            x(q), at least 2 ((a - n x(q)) / n)**2, and it is ln(cells) at first: so there are at most
            ln(cells) / 2 (n / threshold)**2 right steps.
Not sure    a is taken to be at least one deviation of its noise from 0 and from n: no weight goes to 0.

[HR10]      Hardt & Rothblum, A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis. Its
            step is fixed, and its own test has a loss that is bounded but for a delta; here the step follows
            the error, and the sparse vector tests, as in [DR14].
[HLM12]     Hardt, Ligett & McSherry, A Simple and Practical Algorithm: earlier counts again.
[DR14]      Dwork & Roth, The Algorithmic Foundations of Differential Privacy, 4.2.
"""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.sampling import Booleans

PASSES = 10
FEW = 100_000
"""Over more cells than these, what was learned is gone through once."""


def count_passes(cells: int) -> int:
    """Return how often an update goes through what was learned."""
    return PASSES if cells <= FEW else 1


class MultiplicativeWeights:
    """The estimated distribution of `rows` rows over the cells; counts have noise of `deviation`."""

    def __init__(self, cells: int, *, rows: int, deviation: float) -> None:
        self._rows, self._shares = rows, np.full(cells, 1 / cells)
        self._least = min(0.5, deviation / rows)
        self._passes = count_passes(cells)
        self._learned: list[tuple[Booleans, float]] = []

    def estimate_count(self, query: Booleans) -> int:
        return round(self._rows * float(self._shares[query].sum()))

    def compute_hardness(self, query: Booleans, count: int) -> int:
        """Return the distance of the estimate from the exact count."""
        return abs(count - self.estimate_count(query))

    def update(self, query: Booleans, answer: int) -> None:
        """Move weight toward the released counts."""
        if query.all() or not query.any():
            return
        share = float(np.clip(answer / self._rows, self._least, 1 - self._least))
        self._learned.append((query, share))
        for _ in range(self._passes):
            for cells, wanted in self._learned[::-1]:
                self._reweight(cells, wanted)

    def _reweight(self, cells: Booleans, target: float) -> None:
        held = float(self._shares[cells].sum())
        self._shares *= np.where(cells, target / held, (1 - target) / (1 - held))
        self._shares /= self._shares.sum()
