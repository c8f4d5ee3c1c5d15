"""The nouns that every room shares: errors, randomness, exact and released values, guarantees.

Nothing here knows SQL, an engine or a particular mechanism.
"""
