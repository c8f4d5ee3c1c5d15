"""Synthetic tables: planned, charged, tried by attacks, written with their certificate.

The synthesis itself stands in `mining.synthesis`; here it meets curator, ledger, trial and files.
"""
