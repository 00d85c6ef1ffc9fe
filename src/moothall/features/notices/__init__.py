"""Notices: receivers learn by webhook, chat or mail of turns, ends, parked sessions, obligations and breakers."""
