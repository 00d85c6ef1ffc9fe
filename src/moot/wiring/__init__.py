"""The one place that puts parts together."""
