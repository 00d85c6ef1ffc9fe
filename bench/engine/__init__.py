"""The engine's own cost with instant participants, beside peers that do the same work."""
