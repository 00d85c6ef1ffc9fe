"""The domain: seats, facts, effects and rulebooks as pure values and functions; no I/O, no clock."""
