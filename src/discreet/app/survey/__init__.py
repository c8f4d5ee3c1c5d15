"""Surveys that a person can open: answers are randomized in the browser, and only reports leave it.

The page draws by the same law as the operators of `local`; the server takes what they can send, stores it
without who or when, and shows the estimates.
"""
