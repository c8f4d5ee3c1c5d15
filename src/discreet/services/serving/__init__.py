"""The shared parts of `discreet serve`: one process with a policy, its ledger and its store.

Every listener uses them: curators that answer one analyst's questions in turn, admission control, query
timeouts, dummy answers and jobs. The listeners are in the packages `http` and `pgwire`.
"""
