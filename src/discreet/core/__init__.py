"""The nouns that every room shares: errors, numbers, relations, randomness, exact and released values,
guarantees, the policy, and what an engine is to those who are handed one.

Nothing here knows SQL, a particular engine or a particular mechanism.
"""
