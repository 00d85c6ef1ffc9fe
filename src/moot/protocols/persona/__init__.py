"""persona: everyone listens, judges whether it has something to add, and the one most moved speaks (MPCIP)."""
