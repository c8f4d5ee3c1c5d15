"""Mechanisms: from an exact value to a released one, one mechanism per file.

Being listed in `MECHANISMS` earns the family's conformance suite (tests/conformance/test_mechanisms.py).
"""

import re

from discreet.mechanisms.approximate_bounds import ApproximateBounds
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.partition_selection import GroupSelection
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.smooth_median import SmoothMedian

MECHANISMS = (
    DiscreteLaplace,
    Laplace,
    DiscreteGaussian,
    Gaussian,
    Exponential,
    PermuteAndFlip,
    NoisyMax,
    RandomizedResponse,
    Quantile,
    SmoothMedian,
    GroupSelection,
    ApproximateBounds,
)


def get_mechanism_name(kind: type) -> str:
    """Return the name of a mechanism on the command line.

    >>> get_mechanism_name(DiscreteLaplace)
    'discrete-laplace'
    """
    # users type this name, so renaming a mechanism's class changes the command line
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()
