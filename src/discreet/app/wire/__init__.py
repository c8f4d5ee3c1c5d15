"""The PostgreSQL wire protocol, version 3: bytes of a client on one side, a `door.Door` on the other.

This room knows no policy, no ledger and no engine: it reads messages, asks a session what a statement is,
what it would return, and what it returns, and writes messages. What it must keep of the promise is one rule:
what only plans (Parse, Describe, Bind) never runs, and what runs (Execute) runs once.
"""
