"""Synthetic tables: planned, charged, tried by attacks, written with their certificate."""
