"""Publishing a recoded table: from a request to a judged release, its files and its certificate.

Models, hierarchies and searches are in `anonymity`, the attacks on a release in `app.trials`; this package
leads from a request to files, and describes them on a console, in JSON and in reports.
"""
