"""Consultation: a rulebook that wraps any other, so that a seat which is not sure can ask another, through the director."""
