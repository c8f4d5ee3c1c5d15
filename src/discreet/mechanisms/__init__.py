"""From an exact value to a released one: one file per mechanism."""
