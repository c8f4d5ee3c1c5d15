"""Publishing a table that is hard to link: hierarchies, models, search, recoding, risk and utility.

A table published here is not differentially private. A model bounds the belief of an attacker who knows
the quasi-identifiers of everybody and nothing else; each model lists the attacks that it does not stop.
"""
