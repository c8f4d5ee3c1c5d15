"""The vocabulary that every package shares.

Errors, number checks, neighbor relations, randomness, exact and released values, guarantees, the policy and
the engine protocols. Nothing here depends on SQL, on a particular engine or on a particular mechanism.
"""
