"""Surveys under local differential privacy: answers are randomized in the browser, and only reports leave it.

The page samples from the same distributions as the operators of `local`. The server accepts only reports that
these operators can produce, stores them without sender or time, and shows the estimates.
"""
