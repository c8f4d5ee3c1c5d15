"""Engines: run SQL where the rows are and return exact counts; they contain no privacy logic.

An engine encodes a policy's tables, ranks each person's rows, locks its connection down, and counts. Database
drivers are imported here and nowhere else; other packages use the protocols of `core.engine`.
"""
