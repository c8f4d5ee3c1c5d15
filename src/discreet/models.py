"""The privacy models that a published table can be required to meet.

Each bounds what an attacker who knows everybody's quasi-identifiers can believe; `not_stopped` names the
attacks that it does not stop.

>>> from discreet.models import KAnonymity
>>> KAnonymity(k=5).name
'5-anonymity'
"""

from discreet.anonymity.models import (
    MODELS,
    AlphaKAnonymity,
    Attacker,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    KAnonymity,
    KMap,
    MInvariance,
    Model,
    OrderedCloseness,
    ProbabilisticDiversity,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    StrictRisk,
)

__all__ = [
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
    "Model",
    "OrderedCloseness",
    "PSensitiveKAnonymity",
    "ProbabilisticDiversity",
    "RecursiveDiversity",
    "StrictRisk",
]
