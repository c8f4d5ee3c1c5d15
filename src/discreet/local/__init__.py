"""Local differential privacy: each client randomizes its own value, and the server estimates distributions.

One operator per file. Being listed in `OPERATORS` earns the family's conformance suite
(tests/conformance/test_operators.py).
"""

from discreet.local.baskets import BASKET_OPERATORS, BasketOperator, CutAndPaste, SelectASize
from discreet.local.bounded_laplace import BoundedLaplace
from discreet.local.design import Design, design_baskets, design_frequencies, design_mean
from discreet.local.estimates import (
    FrequencyEstimate,
    FrequencyOracle,
    Intervals,
    MeanEstimate,
    MeanOperator,
    NormalEstimate,
)
from discreet.local.frequency_oracles import LinearOperator
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.kary_response import KaryResponse
from discreet.local.laplace_mean import LaplaceMean
from discreet.local.local_hashing import LocalHashing
from discreet.local.matrix_operator import MatrixOperator
from discreet.local.modular_noise import ModularNoise
from discreet.local.operator import Operator, PosteriorRange
from discreet.local.piecewise_mean import PiecewiseMean
from discreet.local.rappor import Rappor
from discreet.local.report_formats import BitFormat, CodeFormat, ReportCounts, ReportFormat, Reports
from discreet.local.subset_selection import SubsetSelection
from discreet.local.two_point_mean import TwoPointMean
from discreet.local.unary_encoding import UnaryEncoding

LINEAR_OPERATORS: tuple[type[LinearOperator], ...] = (ModularNoise, BoundedLaplace, MatrixOperator)
FREQUENCY_ORACLES: tuple[type[FrequencyOracle], ...] = (
    KaryResponse,
    UnaryEncoding,
    LocalHashing,
    HadamardResponse,
    SubsetSelection,
    Rappor,
    *LINEAR_OPERATORS,
)
MEAN_OPERATORS: tuple[type[MeanOperator], ...] = (
    TwoPointMean,
    PiecewiseMean,
    LaplaceMean,
)
OPERATORS: tuple[type[Operator], ...] = (*FREQUENCY_ORACLES, *MEAN_OPERATORS, *BASKET_OPERATORS)

__all__ = [
    "BASKET_OPERATORS",
    "FREQUENCY_ORACLES",
    "LINEAR_OPERATORS",
    "MEAN_OPERATORS",
    "OPERATORS",
    "BasketOperator",
    "BitFormat",
    "BoundedLaplace",
    "CodeFormat",
    "CutAndPaste",
    "Design",
    "FrequencyEstimate",
    "FrequencyOracle",
    "HadamardResponse",
    "Intervals",
    "KaryResponse",
    "LaplaceMean",
    "LinearOperator",
    "LocalHashing",
    "MatrixOperator",
    "MeanEstimate",
    "MeanOperator",
    "ModularNoise",
    "NormalEstimate",
    "Operator",
    "PiecewiseMean",
    "PosteriorRange",
    "Rappor",
    "ReportCounts",
    "ReportFormat",
    "Reports",
    "SelectASize",
    "SubsetSelection",
    "TwoPointMean",
    "UnaryEncoding",
    "design_baskets",
    "design_frequencies",
    "design_mean",
]
