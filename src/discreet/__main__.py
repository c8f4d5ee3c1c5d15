"""`python -m discreet`: the command, where its script is not on the path."""

from discreet.cli.main import main

main()
