"""`discreet reproduce`: inputs and views of the papers' recomputed tables and figures.

The computations are in `papers`; this package loads the Adult survey and renders reproductions.
"""
