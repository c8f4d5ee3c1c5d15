"""Where the rows are: each engine runs SQL in its own system and returns exact counts; no privacy logic."""
