"""The deliberation as one self-contained HTML page."""

from html import escape

from moot.protocols.council.minutes import minutes
from moot.protocols.council.story import Deliberation


def page(story: Deliberation) -> str:
    """The page at any time of a deliberation."""
    return f"<!doctype html><pre>{escape(minutes(story))}</pre>"
