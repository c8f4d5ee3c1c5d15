"""Privacy models, one file each; any number of them can be required together.

A model judges equivalence classes by their counts, and states the belief that it allows an attacker and the
attacks that it does not stop. Every model in `MODELS` runs the family's conformance suite
(tests/conformance/test_models.py). The other modules hold code that models share (`closeness`,
`class_counts`), joint judgement (`privacy_model`), options (`model_option`) and parsing (`model_parsing`).
"""

from discreet.anonymity.models.alpha_k_anonymity import AlphaKAnonymity
from discreet.anonymity.models.attacker_models import Attacker
from discreet.anonymity.models.average_risk import AverageRisk
from discreet.anonymity.models.beta_likeness import BetaLikeness
from discreet.anonymity.models.delta_disclosure import DeltaDisclosure
from discreet.anonymity.models.delta_presence import DeltaPresence
from discreet.anonymity.models.distinct_diversity import DistinctDiversity
from discreet.anonymity.models.entropy_diversity import EntropyDiversity
from discreet.anonymity.models.equal_closeness import EqualCloseness
from discreet.anonymity.models.hierarchical_closeness import HierarchicalCloseness
from discreet.anonymity.models.k_anonymity import KAnonymity
from discreet.anonymity.models.k_map import KMap
from discreet.anonymity.models.m_invariance import MInvariance
from discreet.anonymity.models.model_option import ListedModel
from discreet.anonymity.models.ordered_closeness import OrderedCloseness
from discreet.anonymity.models.p_sensitive_k_anonymity import PSensitiveKAnonymity
from discreet.anonymity.models.privacy_model import (
    ATTACKS,
    MeasuredModel,
    Model,
    TableModel,
    Verdicts,
    WorstClass,
    find_worst_class,
    judge_all,
    select_class_models,
)
from discreet.anonymity.models.probabilistic_diversity import ProbabilisticDiversity
from discreet.anonymity.models.recursive_diversity import RecursiveDiversity
from discreet.anonymity.models.strict_risk import StrictRisk
from discreet.anonymity.models.strongest_parameters import FAMILIES, find_strongest

MODELS: tuple[type[ListedModel], ...] = (
    KAnonymity,
    KMap,
    DeltaPresence,
    DistinctDiversity,
    ProbabilisticDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    EqualCloseness,
    OrderedCloseness,
    HierarchicalCloseness,
    AlphaKAnonymity,
    PSensitiveKAnonymity,
    DeltaDisclosure,
    BetaLikeness,
    MInvariance,
    StrictRisk,
    AverageRisk,
)

__all__ = [
    "ATTACKS",
    "FAMILIES",
    "MODELS",
    "AlphaKAnonymity",
    "Attacker",
    "AverageRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctDiversity",
    "EntropyDiversity",
    "EqualCloseness",
    "HierarchicalCloseness",
    "KAnonymity",
    "KMap",
    "MInvariance",
    "MeasuredModel",
    "Model",
    "OrderedCloseness",
    "PSensitiveKAnonymity",
    "ProbabilisticDiversity",
    "RecursiveDiversity",
    "StrictRisk",
    "TableModel",
    "Verdicts",
    "WorstClass",
    "find_strongest",
    "find_worst_class",
    "judge_all",
    "select_class_models",
]
