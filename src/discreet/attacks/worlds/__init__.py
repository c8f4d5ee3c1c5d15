"""Made-up data on which attacks are shown: documented, and the same for the same seed and NumPy.

No row is anybody's, so that examples, tests and benchmarks may show whatever an attack finds here; figures
say what the attack does, not what it would find elsewhere.
"""
