"""The PostgreSQL wire protocol, version 3: a client's bytes on one side, a `backend.Backend` on the other.

The protocol modules know no policy, no ledger and no engine: they read messages, let a backend session
prepare, describe and run statements, and write messages. One rule protects the budget: messages that only
plan (Parse, Describe, Bind) never run a statement, and Execute runs it once.
"""
