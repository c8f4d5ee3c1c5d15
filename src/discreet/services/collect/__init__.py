"""Collection under local differential privacy: randomized reports, estimates, analyses, designs.

The operators and their estimators are in `local`. This package finds the clients' values, stores reports with
the operator that made them, and does the work of the `discreet collect` commands.
"""
