"""How good the tally, the trust and the group's confidence are, measured on recorded votes with known answers."""
