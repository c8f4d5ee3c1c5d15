"""What an adversary with stated knowledge finds: one attack per file, and the audit of epsilon.

Being listed in `ATTACKS` earns the family's conformance suite (tests/conformance/test_attacks.py).
"""

from discreet.attacks.averaging import Averaging
from discreet.attacks.differencing import Differencing
from discreet.attacks.floating_point import FloatingPoint
from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.informed import InformedAdversary
from discreet.attacks.reconstruction import Reconstruction
from discreet.attacks.scoreboard import Scoreboard
from discreet.attacks.tracker import Tracker
from discreet.attacks.uniqueness import Uniqueness

ATTACKS = (
    Differencing,
    Averaging,
    Tracker,
    Reconstruction,
    InformedAdversary,
    FloatingPoint,
    Uniqueness,
    Scoreboard,
    GenomeMembership,
)
