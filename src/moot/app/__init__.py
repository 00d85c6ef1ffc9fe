"""Use cases: what the surfaces call. The one place that puts parts together."""
