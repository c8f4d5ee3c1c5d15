"""The verbs of the command line, one module each: options in, a result to stdout.

A verb reads what was typed, calls the room that does the work, and shows what came of it. What one verb
decides is no other's business: what several need stands outside of here.
"""
