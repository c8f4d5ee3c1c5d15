"""Recodings in which tuples differ in how far they are generalized, and what becomes of numbers and names."""
