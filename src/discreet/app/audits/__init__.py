"""Audits of questions: made-up neighbours, runs, and what they show of epsilon."""
