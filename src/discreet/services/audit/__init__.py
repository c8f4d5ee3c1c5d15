"""Audits of questions: generated neighboring databases, simulated runs, and a lower bound on epsilon.

`attacks.audit` derives the lower bound from runs; this package provides the runs: of a question on generated
databases that conform to its policy, or of a whole session of an analyst.
"""
