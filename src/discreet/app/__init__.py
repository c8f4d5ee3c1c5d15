"""Services: the only package that imports all others and connects them.

It holds the curator, which answers in the one order that keeps the promise, policy files, ledgers and the
work behind each command. Privacy rules do not belong here: each is defined in the package that it is about,
and called from here.
"""
