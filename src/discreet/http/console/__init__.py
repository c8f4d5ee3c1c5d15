"""The web console: pages rendered by the server, one small script, no build step.

One module per screen. A screen makes no privacy decision: it uses the same services as the HTTP API and shows
their results.
"""
