"""Tests of policies that are made while a server runs."""
