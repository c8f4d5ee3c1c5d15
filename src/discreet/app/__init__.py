"""Where things are wired: the command line now, Curator, server and console later."""
