"""Consensus: all must agree at or above a threshold, else the objections go back for another synthesis."""
