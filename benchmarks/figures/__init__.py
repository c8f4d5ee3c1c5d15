"""Figures of the guides, drawn from made-up people by internal modules."""
