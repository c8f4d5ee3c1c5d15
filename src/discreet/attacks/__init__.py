"""What an adversary with stated knowledge finds: one attack per file, and the audit of epsilon.

Being listed in `ATTACKS` earns the family's conformance suite (tests/conformance/test_attacks.py).
"""

from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.scoreboard import Scoreboard
from discreet.attacks.uniqueness import Uniqueness

ATTACKS = (
    Uniqueness,
    Scoreboard,
    GenomeMembership,
)
