"""Results of services as terminal tables, JSON, charts and HTML reports."""
