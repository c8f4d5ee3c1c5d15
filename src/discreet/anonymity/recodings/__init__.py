"""Recodings with different levels for different tuples; centres for numbers, pseudonyms for identifiers.

One file per method. Each turns counted tuples and models into a recoding that meets the models. Full-domain
generalization, where all tuples share their levels, is in `anonymity.search`.
"""
