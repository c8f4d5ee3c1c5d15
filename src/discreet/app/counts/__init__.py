"""Counts as releases of their own: tables and workloads, frequent itemsets, streams of questions."""
