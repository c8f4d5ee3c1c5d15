"""How easily people are found: attackers by what they know, uniqueness, and what tells people apart.

Computed from real data, so for the custodian's eyes.
"""
