"""Doubles and players that only our own tests use."""
