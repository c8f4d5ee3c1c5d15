"""Releases of counts: tables and workloads, frequent itemsets, streams of counting questions.

Each module plans a `Publication` from its request; publications are offered, charged once, stored and
certified in the same way. Selecting what to count, and adding noise, is the work of `mining`.
"""
