"""Simulated data for demonstrating attacks: documented, and reproducible for the same seed and NumPy version.

No row belongs to a real person, so examples, tests and benchmarks may show whatever an attack finds; figures
describe the attack, not what it would find elsewhere.
"""
