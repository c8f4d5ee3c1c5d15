"""Averages: the estimated mean is the mean of what each report is worth, a number that is right on average.

Interval    Student's, of the reports' worths; never shorter than coins alone make it, as few reports that are
            alike by chance would seem to leave no doubt. One report leaves the whole range. It is cut to the
            range, which the mean of the numbers cannot leave.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from discreet.local.estimates import MeanEstimate
from discreet.local.forms import Counts, Reports
from discreet.local.operator import Means
from discreet.mechanisms.sampling import Floats


class Average(Means, Protocol):
    """A mean whose reports are codes, each worth a number."""

    @property
    @abstractmethod
    def worths(self) -> Floats:
        """What each report is worth; on average, the number of the client who sent it."""

    @property
    @abstractmethod
    def least_variance(self) -> float:
        """The variance of one report's worth at the number where it is least."""

    def estimate(self, reports: Reports | Counts) -> MeanEstimate:
        counts = self.counted(reports)
        mean, variance = self._moments(counts)
        error = math.sqrt(max(variance, self.least_variance) / counts.clients)
        return MeanEstimate(operator=self, counts=counts, mean=mean, error=error)

    def interval(self, counts: Counts, confidence: float) -> tuple[float, float]:
        if counts.clients == 1:
            return self.low, self.high
        found = self.estimate(counts)
        reach = -float(stdtrit(counts.clients - 1, (1 - confidence) / 2)) * found.error
        return found.mean - reach, found.mean + reach

    def _moments(self, counts: Counts) -> tuple[float, float]:
        seen = counts.cells / counts.clients
        mean = float(seen @ self.worths)
        spread = float(seen @ (self.worths - mean) ** 2)
        return mean, spread * counts.clients / max(counts.clients - 1, 1)


def line(low: float, high: float, first: float, last: float, count: int) -> Floats:
    """Worths on a line, of `count` codes: what `first` and `last` are worth is `low` and `high`."""
    return np.asarray(low + (high - low) * (np.arange(count) - first) / (last - first))
