"""The subcommands of the command line, one module each: options in, a result on stdout.

A subcommand parses its options, calls the service that does the work, and prints the result. Subcommands do
not import each other; code that several of them need is in a service or in one of the option modules.
"""
