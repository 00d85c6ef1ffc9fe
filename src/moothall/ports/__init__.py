"""The ports of the engine, as protocols: ledger, participant, clock, similarity, plugin."""
