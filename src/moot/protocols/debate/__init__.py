"""Debate: propose, support or challenge, synthesize, vote. `structured_debate` on the wire."""
