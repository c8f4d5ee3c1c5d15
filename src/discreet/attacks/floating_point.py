"""Floating-point attack: the last bits of a noisy double reveal the number before the noise.

Knows       that the exact answer is 0 or 1, and that noise was added to it as one double to another.
Learns      which it is, for outputs close to 0. Noise near 0 has bits far below 2**-53; noise near -1 has
            not, nor has 1 plus such noise. So an output in (0, 1/8) that is not a multiple of 2**-53 shows
            that the exact answer is 0, whatever epsilon was claimed [Mironov12].
Score       the share of outputs in (0, 1/8), from both answers, that the last bits classify right; the
            baseline is the commoner answer. The rule is learned on one half of the runs and scored on the
            other. `epsilon` is the lower bound from this event alone, by Clopper-Pearson with 95%.
Stopped by  noise on a grid that does not depend on the data: integers, or multiples of a declared step.

[Mironov12] Mironov, On Significance of the Least Significant Bits for Differential Privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.distinguishing_events import compute_epsilon_lower_bound, has_fine_bits
from discreet.attacks.findings import Finding, Findings
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count

Floats = NDArray[np.float64]
DoubleRelease = Callable[[int, int], Floats]

NEAR_ZERO = 1 / 8
MISS = 0.05


@dataclass(frozen=True, kw_only=True)
class FloatingPoint:
    """Inspection of the last bits of `runs` outputs on each of the exact answers 0 and 1."""

    runs: int = 100_000

    name: ClassVar[str] = "floating point"
    knows: ClassVar[str] = "that the exact answer is 0 or 1, and how doubles are added"
    learns: ClassVar[str] = "which of the two it is, from the last bits of the answer"
    stopped_by: ClassVar[str] = "noise on a grid that does not depend on the data"

    def __post_init__(self) -> None:
        require_count(self, "runs", self.runs, minimum=100)

    def run(self, release: DoubleRelease) -> Findings:
        """Attack `release(value, runs)`, which returns `runs` doubles for the exact answer `value`."""
        outputs = [np.asarray(release(value, self.runs), np.float64) for value in (0, 1)]
        if any(each.shape != (self.runs,) for each in outputs):
            raise RequestError("floating point: a release must give one number for each run.")
        near = [(each > 0) & (each < NEAR_ZERO) for each in outputs]
        fine = [has_fine_bits(each) & close for each, close in zip(outputs, near, strict=True)]
        half = self.runs // 2
        learned = [_count_coarse_and_fine(fine[world][:half], near[world][:half]) for world in (0, 1)]
        counted = [_count_coarse_and_fine(fine[world][half:], near[world][half:]) for world in (0, 1)]
        attempts = int(sum(map(sum, counted)))
        if not attempts:
            return self._build_empty_findings(fine)
        # for coarse outputs, then for fine ones: the world in which the learning half had more of them
        says = [int(learned[1][kind] > learned[0][kind]) for kind in (0, 1)]
        right = sum(counted[says[kind]][kind] for kind in (0, 1))
        return self._build_findings(right, attempts, max(map(sum, counted)), fine)

    def _build_empty_findings(self, fine: list[NDArray[np.bool_]]) -> Findings:
        return self._build_findings(1, 2, 1, fine, note="no output came near 0, so there was nothing to tell")

    def _build_findings(
        self, right: int, attempts: int, commoner: int, fine: list[NDArray[np.bool_]], note: str = ""
    ) -> Findings:
        hits = [int(each.sum()) for each in fine]
        sure = clopper_pearson(hits[0], sum(hits), alpha=2 * MISS)[0] if sum(hits) else 0.5
        shown = max(
            compute_epsilon_lower_bound(hits[a], hits[b], self.runs, error_rate=MISS)
            for a, b in ((0, 1), (1, 0))
        )
        return Findings(
            attack=self.name,
            knows=self.knows,
            learns=self.learns,
            stopped_by=self.stopped_by,
            success=right / attempts,
            baseline=commoner / attempts,
            attempts=attempts,
            interval=clopper_pearson(right, attempts),
            victims=(
                Finding(
                    victim="anyone", claim="the exact answer is 0", prior=0.5, posterior=sure, truth=True
                ),
            ),
            figures={
                "fine outputs near 0, if it is 0": hits[0] / self.runs,
                "fine outputs near 0, if it is 1": hits[1] / self.runs,
                "epsilon": shown,
            },
            note=note,
        )


def _count_coarse_and_fine(fine: NDArray[np.bool_], near: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the number of coarse and of fine outputs near 0."""
    return int(np.count_nonzero(near & ~fine)), int(np.count_nonzero(fine))
