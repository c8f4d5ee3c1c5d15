"""Drafting a policy from a file: roles, identifiers, hierarchies that are proposed and never silent.

A draft has a `?` wherever only a person may decide: nothing that is guessed here takes effect by itself.
"""
