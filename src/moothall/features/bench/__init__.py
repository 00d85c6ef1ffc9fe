"""Bench: a file of questions with known answers before single models, a blind vote of them, and protocols."""
