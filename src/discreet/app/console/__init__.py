"""The console: pages that the server renders, one small script, no build step."""
