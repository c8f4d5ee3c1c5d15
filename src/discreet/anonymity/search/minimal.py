"""All minimal generalizations: the valid nodes that are not a generalization of another valid one.

Every node is judged, or known from another: below a hopeless one none is valid, and where the models are
monotone all are above a valid one. Nodes are taken in the order in which their tables are made from each other.
"""
