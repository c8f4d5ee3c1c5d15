"""Two-level operators: report y is gamma times as likely from values in a set S(y) as from all others.

Belief      With s the prior mass of S(y), b = 1 / gamma and Z = b + (1 - b) s, report y makes every value of
            S(y) 1 / Z times and every other value b / Z times as likely. So it reveals
            (s / Z) ln(1 / Z) + (b (1 - s) / Z) ln(b / Z) nats, which depends on the report through s
            alone: no matrix is needed, for any number of values. With gamma infinite, b = 0: the others are
            ruled out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from discreet.belief.breaches import Mask, require_distribution
from discreet.local.operator import Operator, require_mask
from discreet.local.posterior_ranges import PosteriorRange
from discreet.local.report_formats import CodeFormat, Reports
from discreet.mechanisms.sampling import Floats, Integers


class TwoLevelOperator(Operator, Protocol):
    """An operator whose reports are codes that each support a set of values, every value equally often."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of different reports."""

    @abstractmethod
    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        """Return the mask of which outputs support which values; the two are broadcast."""

    @abstractmethod
    def sum_supported_weights(self, weights: Floats) -> Floats:
        """Return for every output the summed weights of the values that it supports."""

    @property
    def report_format(self) -> CodeFormat:
        return CodeFormat(outputs=self.outputs)

    def find_supported_values(self, report: Reports) -> Mask:
        """Return the mask of the values that a single report supports."""
        return self.support_mask(
            self.report_format.to_matrix_columns(np.atleast_1d(report)), np.arange(self.values)
        )

    def likelihood(self, report: Reports) -> Floats:
        return np.where(self.find_supported_values(report), 1.0, 1 / self.gamma)

    def compute_matrix(self) -> Floats:
        held = self.support_mask(np.arange(self.outputs), np.arange(self.values)[:, None])
        size, low = int(held[0].sum()), 1 / self.gamma
        return np.where(held, 1.0, low) / (size + low * (self.outputs - size))

    def worst_case_information(self, prior: ArrayLike) -> float:
        mass, low = (
            self.sum_supported_weights(require_distribution("prior", prior, self.values)),
            1 / self.gamma,
        )
        mass = np.clip(mass, 0.0, 1.0)  # transforms round, so masses may leave [0, 1] slightly
        total = low + (1 - low) * mass
        mass, total = mass[total > 0], total[total > 0]
        return float((xlogy(mass, 1 / total) / total + (1 - mass) * xlogy(low, low / total) / total).max())

    def posterior_ranges(self, prior: ArrayLike, properties: Sequence[Mask]) -> tuple[PosteriorRange, ...]:
        p, low = require_distribution("prior", prior, self.values), 1 / self.gamma
        masks = [require_mask(self, holds) for holds in properties]
        return tuple(
            _compute_posterior_range(self, np.where(mask, p, 0.0), np.where(mask, 0.0, p), low)
            for mask in masks
        )


def _compute_posterior_range(
    operator: TwoLevelOperator, having: Floats, lacking: Floats, low: float
) -> PosteriorRange:
    with_it, without = (
        low * part.sum() + (1 - low) * np.maximum(operator.sum_supported_weights(part), 0.0)
        for part in (having, lacking)
    )
    possible = with_it + without > 0
    after = with_it[possible] / (with_it + without)[possible]
    return PosteriorRange(prior=float(having.sum()), highest=float(after.max()), lowest=float(after.min()))
