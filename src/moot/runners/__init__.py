"""Where sessions run."""
