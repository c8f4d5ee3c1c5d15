"""Tabulation: counts over declared bins as releases of their own, alone or many at once.

Histograms and contingency tables (`contingency`), ranges of an ordered column (`ranges`), workloads that
choose how they are measured before anything is spent (`workloads`), and frequent itemsets (`itemsets`).
"""
