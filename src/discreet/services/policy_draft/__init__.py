"""Policy drafts from files and engines: proposed roles, identifiers and hierarchies.

A draft has a `?` wherever a person must decide: no guess takes effect by itself.
"""
