"""Pipelines: a director takes a task through steps, one agent at a time, with validation gates in between."""
