"""Guarantees: what is known of a release's privacy loss, in the forms that the literature proves.

The loss at an output y is ln Pr[M(D) = y] / Pr[M(D') = y] for neighbours D, D'. Each guarantee here bounds
its distribution, says for which neighbours (`relation`), and answers three questions:

cap         the largest loss that any output can have; infinite where there is none
profile(e)  the least d such that the release is known to be (e, d)-DP
for_group   the same release, for neighbours that differ in `size` people at once

The profile is what everything else follows from: composition, belief, and the tail of a promise. What may be
summed under a promise with a tail says its (rho, delta) as well, as `concentrated`.
"""

from discreet.core.guarantees.concentrated import RenyiDP, ZeroConcentratedDP
from discreet.core.guarantees.gaussian import DiscreteGaussianDP, GaussianDP
from discreet.core.guarantees.guarantee import GroupOf, Guarantee, restate
from discreet.core.guarantees.pure import ApproximateDP, LaplaceDP, PureDP

__all__ = [
    "ApproximateDP",
    "DiscreteGaussianDP",
    "GaussianDP",
    "GroupOf",
    "Guarantee",
    "LaplaceDP",
    "PureDP",
    "RenyiDP",
    "ZeroConcentratedDP",
    "restate",
]
