"""How our own statements are written for other engines than DuckDB: a closed set of operators, each total."""
