"""The minutes of a deliberation as Markdown."""

from moot.protocols.council.story import Deliberation
from moot.protocols.council.telling import summary


def minutes(story: Deliberation) -> str:
    """The minutes at any time of a deliberation."""
    return "\n".join(line.text for line in summary(story)) + "\n"
