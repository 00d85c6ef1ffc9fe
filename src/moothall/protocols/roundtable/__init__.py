"""The roundtable protocol: a conference in turns, whose files any agent can read and write."""
