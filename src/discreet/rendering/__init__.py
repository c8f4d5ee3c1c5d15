"""Results of services as terminal tables, JSON, charts and HTML reports.

Every frontend renders with these modules. They take result objects, and compute nothing that a service could:
a figure that is shown somewhere is a field of a result.
"""
