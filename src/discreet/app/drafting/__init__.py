"""Drafting a policy from a file: roles, identifiers, hierarchies that are proposed and never silent."""
