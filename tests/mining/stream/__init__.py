"""Streams of counting questions."""
