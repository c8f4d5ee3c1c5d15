"""Policies made while a server runs: uploads, the form of a table and its preview, the file with comments.

No bound and no value is taken from the data: they are what the custodian types, or what `bounds` learned.
"""
