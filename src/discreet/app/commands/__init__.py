"""The verbs of the command line, one module each: options in, a result to stdout."""
