"""Synthesis: a table of artificial people whose marginals are close to the real ones.

    plan → engine counts marginals → some are chosen and measured → a model → rows

`plan_synthesis` is pure: from a policy and a budget to what will be asked, promised and expected.
`synthesize` runs it.
"""

from discreet.mining.synthesis.synthesis_plan import (
    EarlierAnswer,
    Synthesis,
    SynthesisPlan,
    plan_synthesis,
    synthesize,
)

__all__ = ["EarlierAnswer", "Synthesis", "SynthesisPlan", "plan_synthesis", "synthesize"]
