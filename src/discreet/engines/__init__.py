"""Where the rows are: each engine runs SQL in its own system and returns exact counts; no privacy logic.

An engine encodes a policy's tables, ranks each person's rows, shuts its connection off, and counts. Drivers
are imported here and nowhere else; what an engine is to the other rooms stands in `core.engine`.
"""
