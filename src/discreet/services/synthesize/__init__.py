"""Synthetic tables: planned, charged, attacked, and written with their certificate.

The algorithms are in `mining.synthesis`; this package connects them to curator, ledger, attacks and files.
"""
