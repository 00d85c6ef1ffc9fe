"""The words of the house: seats, facts, effects, rulebooks. Pure values and functions."""
