"""Bounds and values of a column that are learned privately: the request, what is measured and released for
it, and the entry of the policy file that declares the result.
"""
