"""Audits of questions: made-up neighbours, runs, and what they show of epsilon.

How a lower bound on epsilon follows from runs stands in `attacks`; here is what is run: mechanisms, a
question of a policy on databases that follow it, or a whole session of an analyst.
"""
