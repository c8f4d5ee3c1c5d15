"""The console: pages that the server renders, one small script, no build step.

One module a screen. A screen decides nothing about privacy: it asks what the HTTP door asks, of the same
curators, and shows it.
"""
