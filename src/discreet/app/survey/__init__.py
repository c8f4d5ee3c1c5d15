"""Surveys that a person can open: answers are randomized in the browser, and only reports leave it."""
