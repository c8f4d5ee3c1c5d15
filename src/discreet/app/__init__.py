"""Where things are wired: the only room that knows all others.

Here stand the curator, which answers in the one order that keeps the promise; the verbs of the command line;
servers and the console; policy files, reports and charts. A rule of privacy has no place here: it stands in
the room that it is about, and is called.
"""
