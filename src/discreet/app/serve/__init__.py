"""`discreet serve`: one process with a policy, its ledger and its store, and the doors to them.

What stands here is the same at every door: one analyst's questions in turn, deadlines, tries on made-up
people, jobs. The doors themselves are `app.http` and `app.wire`.
"""
