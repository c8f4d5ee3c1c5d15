"""Attacks on releases by an adversary with stated knowledge, one per file, and the audits of epsilon.

Tables      `published_table` holds a release as its reader sees it, `attacker_knowledge` what is known about
            people, and `match_sets` which rows may belong to whom; attacks on published tables run on those.
Synthetic   `synthetic_release` compares a synthetic table with people who were in its data and people who
            were not; `synthetic_sweep` finds the most revealing columns and runs the three attacks on them.
Answers     `query_attacks` holds what attacks on a query interface share.
"""

from discreet.attacks.attribute_inference import AttributeInference
from discreet.attacks.averaging import Averaging
from discreet.attacks.background_knowledge import BackgroundKnowledge, Fact
from discreet.attacks.birthday import Birthday
from discreet.attacks.class_inference import ClassInference
from discreet.attacks.differencing import Differencing
from discreet.attacks.floating_point import FloatingPoint
from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.homogeneity import Homogeneity
from discreet.attacks.informed_adversary import InformedAdversary
from discreet.attacks.intersection import Intersection
from discreet.attacks.linkability import Linkability
from discreet.attacks.linkage import Linkage
from discreet.attacks.reconstruction import Reconstruction
from discreet.attacks.scoreboard import Scoreboard
from discreet.attacks.similarity import Similarity
from discreet.attacks.singling_out import SinglingOut
from discreet.attacks.skewness import Skewness
from discreet.attacks.tracker import Tracker
from discreet.attacks.uniqueness import Uniqueness

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
