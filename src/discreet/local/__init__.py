"""Local differential privacy: each client randomizes its own value, and the server estimates distributions.

One operator per file. Being listed in `OPERATORS` earns the family's conformance suite
(tests/conformance/test_operators.py).
"""

from discreet.local.baskets import BASKETS, Baskets, CutAndPaste, SelectASize, design_baskets
from discreet.local.bounded_laplace import BoundedLaplace
from discreet.local.design import Design, design, design_mean
from discreet.local.estimates import Estimate, Figure, Intervals, MeanEstimate
from discreet.local.forms import Bits, Codes, Counts, Form, Reports
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.kary_response import KaryResponse
from discreet.local.laplace_mean import LaplaceMean
from discreet.local.linear import Linear
from discreet.local.local_hashing import LocalHashing
from discreet.local.matrix_operator import MatrixOperator
from discreet.local.modular_noise import ModularNoise
from discreet.local.operator import Frequencies, Means, Operator
from discreet.local.piecewise_mean import PiecewiseMean
from discreet.local.rappor import Rappor
from discreet.local.subset_selection import SubsetSelection
from discreet.local.swings import Swing
from discreet.local.two_point_mean import TwoPointMean
from discreet.local.unary_encoding import UnaryEncoding

LINEAR: tuple[type[Linear], ...] = (ModularNoise, BoundedLaplace, MatrixOperator)
FREQUENCIES: tuple[type[Frequencies], ...] = (
    KaryResponse,
    UnaryEncoding,
    LocalHashing,
    HadamardResponse,
    SubsetSelection,
    Rappor,
    *LINEAR,
)
MEANS: tuple[type[Means], ...] = (
    TwoPointMean,
    PiecewiseMean,
    LaplaceMean,
)
OPERATORS: tuple[type[Operator], ...] = (*FREQUENCIES, *MEANS, *BASKETS)

__all__ = [
    "BASKETS",
    "FREQUENCIES",
    "LINEAR",
    "MEANS",
    "OPERATORS",
    "Baskets",
    "Bits",
    "BoundedLaplace",
    "Codes",
    "Counts",
    "CutAndPaste",
    "Design",
    "Estimate",
    "Figure",
    "Form",
    "Frequencies",
    "HadamardResponse",
    "Intervals",
    "KaryResponse",
    "LaplaceMean",
    "Linear",
    "LocalHashing",
    "MatrixOperator",
    "MeanEstimate",
    "Means",
    "ModularNoise",
    "Operator",
    "PiecewiseMean",
    "Rappor",
    "Reports",
    "SelectASize",
    "SubsetSelection",
    "Swing",
    "TwoPointMean",
    "UnaryEncoding",
    "design",
    "design_baskets",
    "design_mean",
]
