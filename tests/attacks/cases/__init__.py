"""One case for each attack of `ATTACKS`, in a file of its own."""

from __future__ import annotations

from tests.attacks.cases.genome_membership import GENOME_MEMBERSHIP
from tests.attacks.cases.queries import QUERIES
from tests.attacks.cases.scoreboard import SCOREBOARD
from tests.attacks.cases.synthetic import SYNTHETIC
from tests.attacks.cases.tables import CASES_ON_TABLES
from tests.attacks.cases.uniqueness import UNIQUENESS

CASES = (
    *CASES_ON_TABLES,
    *QUERIES,
    UNIQUENESS,
    SCOREBOARD,
    GENOME_MEMBERSHIP,
    *SYNTHETIC,
)
