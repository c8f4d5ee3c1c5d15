"""Trials: the attacks that fit, run on what is or would be published, and the report of them."""
