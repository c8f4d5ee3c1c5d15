"""Publishing a table that is hard to link: hierarchies, models, search, recoding, risk and utility.

What is published here is not differentially private. A model bounds what an attacker comes to believe who
knows the quasi-identifiers of everybody and nothing else; each says which attacks it does not stop.
"""
