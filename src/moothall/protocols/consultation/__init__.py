"""Consultation: a rulebook that wraps any other one, so that an unsure seat can ask another seat, through the director."""
