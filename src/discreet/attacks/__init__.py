"""Attacks on releases by an adversary with stated knowledge, and the audits of epsilon.

Tables      `published_table` holds a release as its reader sees it, `attacker_knowledge` what is known about
            people, and `match_sets` which rows may belong to whom; attacks on published tables run on those.
Synthetic   `synthetic_release` compares a synthetic table with people who were in its data and people who
            were not; `synthetic_sweep` finds the most revealing columns and runs the three attacks on them.
Answers     `query_attacks` holds what attacks on a query interface share.
"""

from discreet.attacks.attribute_disclosure import ClassInference, Homogeneity, Similarity, Skewness
from discreet.attacks.averaging import Averaging
from discreet.attacks.background_knowledge import BackgroundKnowledge, Fact
from discreet.attacks.composition_attacks import Birthday, Intersection
from discreet.attacks.differencing import Differencing, Tracker
from discreet.attacks.floating_point import FloatingPoint
from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.informed_adversary import InformedAdversary
from discreet.attacks.linkage import Linkage, Uniqueness
from discreet.attacks.reconstruction import Reconstruction
from discreet.attacks.scoreboard import Scoreboard
from discreet.attacks.synthetic_attacks import AttributeInference, Linkability, SinglingOut

ATTACKS = (
    Linkage,
    Homogeneity,
    BackgroundKnowledge,
    Similarity,
    Skewness,
    ClassInference,
    Intersection,
    Birthday,
    Differencing,
    Averaging,
    Tracker,
    Reconstruction,
    InformedAdversary,
    FloatingPoint,
    Uniqueness,
    Scoreboard,
    GenomeMembership,
    SinglingOut,
    Linkability,
    AttributeInference,
)

__all__ = [
    "ATTACKS",
    "AttributeInference",
    "Averaging",
    "BackgroundKnowledge",
    "Birthday",
    "ClassInference",
    "Differencing",
    "Fact",
    "FloatingPoint",
    "GenomeMembership",
    "Homogeneity",
    "InformedAdversary",
    "Intersection",
    "Linkability",
    "Linkage",
    "Reconstruction",
    "Scoreboard",
    "Similarity",
    "SinglingOut",
    "Skewness",
    "Tracker",
    "Uniqueness",
]
