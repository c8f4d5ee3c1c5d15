"""Publishing a recoded table: what is asked for, counted, found, judged, written and certified.

Models, hierarchies and searches stand in `anonymity`, the attacks of a release's trial in `app.trials`; here
is the way from a request to files, and what is said of them on a console, in JSON and in reports.
"""
