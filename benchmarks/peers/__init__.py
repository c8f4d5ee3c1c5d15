"""Other systems on the same task, one module each, run by `environments` in an environment of its own."""
