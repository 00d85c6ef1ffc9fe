"""The protocols: one package each, strangers to one another."""
