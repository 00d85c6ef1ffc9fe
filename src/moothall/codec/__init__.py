"""Conversions between bytes and values: the stored form of facts, the hash chain, the values of settings."""
