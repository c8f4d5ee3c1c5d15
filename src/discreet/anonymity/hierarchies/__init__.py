"""Hierarchies: how the values of a quasi-identifier are made coarser, level by level."""

from discreet.anonymity.hierarchies.hierarchy import Hierarchy

__all__ = ["Hierarchy"]
