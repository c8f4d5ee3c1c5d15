"""`discreet serve`: one process with a policy, its ledger and its store, and the doors to them."""
