"""Counts as releases of their own: tables and workloads, frequent itemsets, streams of questions.

Each makes a `publication` of what is asked for; that is offered, charged once, kept and certified, whatever
is counted. How the counts are chosen and made noisy stands in `mining`.
"""
