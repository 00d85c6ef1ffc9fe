"""Conversions between bytes and values: the stored form of facts, the hash chain, the wire form of answers."""
