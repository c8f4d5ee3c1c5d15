"""Collecting answers that were randomized at their source: files of reports, estimates, analyses, designs.

The operators and their estimates stand in `local`; here is where clients' values are found, how reports are
stored with the operator that they are of, and what the verbs of `discreet collect` show.
"""
