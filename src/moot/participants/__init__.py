"""Whoever fills a seat: models, scripts, people."""
