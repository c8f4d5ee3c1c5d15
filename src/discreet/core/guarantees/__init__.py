"""Guarantees: bounds on the privacy loss of a release, in the forms that the literature proves.

The loss at an output y is ln Pr[M(D) = y] / Pr[M(D') = y] for neighbors D, D'. Each guarantee bounds its
distribution for the neighbors of its `relation`, and has three members:

cap         the largest loss that any output can have; infinite where there is none profile(e)  the least d
such that the release is known to be (e, d)-DP for_group   the same release, for neighbors that differ in
`size` people at once

Everything else follows from the profile: composition, belief, and the tail of a promise. Guarantees that can
be summed under a promise with a tail also state their (rho, delta), as `concentrated`.
"""

from discreet.core.guarantees.concentrated_dp import RenyiDP, ZeroConcentratedDP
from discreet.core.guarantees.gaussian_dp import DiscreteGaussianDP, GaussianDP
from discreet.core.guarantees.guarantee import GroupOf, Guarantee, convert_guarantee
from discreet.core.guarantees.pure_dp import ApproximateDP, LaplaceDP, PureDP

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
    "convert_guarantee",
]
