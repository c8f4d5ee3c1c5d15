"""Input that nobody writes on purpose: every failure is a sentence, and none is an internal error."""
