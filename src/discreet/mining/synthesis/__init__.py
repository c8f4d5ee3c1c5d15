"""Synthesis: a table of artificial people whose marginals are close to the real ones.

    plan → engine counts marginals → some are chosen and measured → a model → rows

`plan` is pure: from a policy and a budget to what will be asked, promised and expected. `synthesize` runs it.
"""

from discreet.mining.synthesis.plan import Earlier, Plan, plan
from discreet.mining.synthesis.run import Synthesis, synthesize

__all__ = ["Earlier", "Plan", "Synthesis", "plan", "synthesize"]
