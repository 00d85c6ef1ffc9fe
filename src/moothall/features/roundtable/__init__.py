"""Roundtables: a conference in turns, also in a folder of plain files that any agent can read and write."""
