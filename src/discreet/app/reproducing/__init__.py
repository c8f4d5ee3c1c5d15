"""`discreet reproduce`: the papers' tables and figures, shown and filed.

What is recomputed stands in `papers`; here is where the Adult survey is found, and how reproductions look.
"""
