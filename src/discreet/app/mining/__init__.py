"""Models that are trained under the promise.

A model is planned, charged and stored like an answer. The algorithms are in the package `mining`, which
depends on neither curator nor ledger.
"""
