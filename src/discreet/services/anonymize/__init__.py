"""Publishing a recoded table: from a request to a judged release, its files and its certificate.

Models, hierarchies and searches are in `anonymity`, the attacks in `services.attack`. `anonymize_request` has
the request, `anonymize` the service; what it returns is rendered by frontends with `rendering`.
"""
