"""The seams of the engine, as protocols: ledgers, participants, clocks, measures of likeness."""
