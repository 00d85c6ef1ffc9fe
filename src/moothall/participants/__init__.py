"""The participants that fill seats: models, coding agents, scripts, people."""
