"""Models that are learned under the promise, as a custodian's analyst asks for them.

A model is planned, charged and kept like an answer. How it is learned stands in the room `mining`, which
knows neither curator nor ledger.
"""
