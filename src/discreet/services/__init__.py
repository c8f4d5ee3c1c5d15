"""The verbs of discreet: a typed request in, a result out; here engines, ledger and mechanisms meet.

A service knows no command line, no HTTP and no HTML. Frontends build the request, call the service and render
the result.
"""
