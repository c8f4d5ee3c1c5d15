"""Recodings in which tuples differ in how far they are generalized, and what becomes of numbers and names.

One file a method. Each takes counted tuples and models to a recoding that meets them; full-domain
generalization, where all tuples share their levels, is in `anonymity.search`.
"""
