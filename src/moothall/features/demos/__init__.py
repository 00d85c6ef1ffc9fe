"""Demos: meetings that were written in advance, played by the real rules."""
