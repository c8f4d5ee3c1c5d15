"""What an adversary with stated knowledge finds: one attack per file, and the audit of epsilon.

On tables   `published` is what a reader of a release has, `known` what is known of people, and `match_sets`
            which rows may be whose; the attacks on published tables run on those.
"""

from discreet.attacks.background_knowledge import BackgroundKnowledge, Fact
from discreet.attacks.birthday import Birthday
from discreet.attacks.class_inference import ClassInference
from discreet.attacks.homogeneity import Homogeneity
from discreet.attacks.intersection import Intersection
from discreet.attacks.linkage import Linkage
from discreet.attacks.similarity import Similarity
from discreet.attacks.skewness import Skewness

ATTACKS = (
    Linkage,
    Homogeneity,
    BackgroundKnowledge,
    Similarity,
    Skewness,
    ClassInference,
    Intersection,
    Birthday,
)

__all__ = [
    "ATTACKS",
    "BackgroundKnowledge",
    "Birthday",
    "ClassInference",
    "Fact",
    "Homogeneity",
    "Intersection",
    "Linkage",
    "Similarity",
    "Skewness",
]
