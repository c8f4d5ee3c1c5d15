"""Attack evaluations: the attacks that apply to a release, run and compared with the custodian's bounds.

`discreet.attacks` implements the attacks; this package decides which of them apply to a file, a curator or a
release that is not written yet, what the attacker knows, and which bounds apply.
"""
