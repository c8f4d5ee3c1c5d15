"""How our own statements are written for other engines than DuckDB: a closed set of operators, each total.

A dialect says how its engine writes each of them; what was written is parsed again and compared with what
was meant before it runs. No text of an analyst comes here.
"""
