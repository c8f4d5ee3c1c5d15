"""Collecting answers that were randomized at their source: files of reports, estimates, analyses, designs."""
