"""The use cases that the surfaces call; the one place that assembles the parts."""
