"""Strangers' texts, whole and broken, given to everything that reads them."""
