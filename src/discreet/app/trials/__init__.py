"""Trials: the attacks that fit, run on what is or would be published, and the report of them.

`attacks` knows how each attack goes; here is decided which of them fit a file, an answerer or a release that
is not written yet, what the attacker knows, and which bounds were set.
"""
