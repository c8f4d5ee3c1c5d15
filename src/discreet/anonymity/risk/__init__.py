"""Re-identification risk: attacker models, uniqueness, and columns that distinguish people.

It is computed from real data, so it is for the custodian only.
"""
