"""The HTTP door: an API for programs and people, on the same curators as the other doors."""
