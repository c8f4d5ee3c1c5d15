"""Dialects: translate our own statements to other engines' SQL, by a closed set of total operators.

A dialect writes each operator for its engine; the result is parsed again and compared with the intended
statement before it runs. No text of an analyst reaches this package.
"""
