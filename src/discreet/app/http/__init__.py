"""The HTTP door: an API for programs and people, on the same curators as the other doors.

Here stand routes, bodies, logins and replies; what happens behind them is the same at every door and stands
in `app.serve`. The pages of the same server are in `app.console`.
"""
