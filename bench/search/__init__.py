"""How well decisions are found: 200 decisions, 40 queries in two languages, and the time at 5,000 decisions."""
