"""`python -m discreet`: the command, where its script is not on the path."""

from discreet.app.cli import main

main()
