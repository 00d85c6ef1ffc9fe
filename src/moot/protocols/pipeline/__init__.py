"""Pipeline: a director takes a task through steps, one agent at work at a time, with validation gates in between."""
