"""How long tests wait for what is sure to come."""

PATIENCE = 600.0
"""Seconds: none of them passes unless something is broken."""
