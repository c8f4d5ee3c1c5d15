"""One case for each attack of `ATTACKS`."""

from __future__ import annotations

from tests.attacks.cases.tables import CASES_ON_TABLES

CASES = (*CASES_ON_TABLES,)
