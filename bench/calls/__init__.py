"""How many model calls each protocol makes, counted at a model's door."""
