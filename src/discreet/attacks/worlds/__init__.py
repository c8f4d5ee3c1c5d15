"""Made-up data on which attacks are shown: documented, and the same for the same seed and NumPy."""
