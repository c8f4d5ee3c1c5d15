"""Bounds and values that are learned privately: request, release, and the entry of the policy file."""
