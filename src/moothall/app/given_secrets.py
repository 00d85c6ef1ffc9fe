"""Names keys, tokens and passwords in what is given before anything is sent (E-9): by file, line and kind, never the secret."""

from collections.abc import Iterable
from typing import Final

from moothall.domain.safe_text import one_line, shorten_text
from moothall.domain.secret_shapes import find_secrets
from moothall.domain.topic import ContextFile
from moothall.errors import SecretsGiven

MAX_NAMED: Final = 8
"""How many places a sentence names."""
MAX_NAME: Final = 200
QUESTION: Final = "the question"


def list_secrets(name: str, text: str) -> list[str]:
    """Return the secrets of a text, each with its place: `prod.env:3 (GitHub token)`."""
    shown = shorten_text(one_line(name), MAX_NAME)
    return [f"{shown}:{place.line} ({place.kind})" for place in find_secrets(text)]


def describe_secrets(text: str) -> str:
    """Return why a file of a folder is left out; empty where nothing in it looks like a secret."""
    places = [f"line {place.line} ({place.kind})" for place in find_secrets(text)]
    if not places:
        return ""
    return f"looks like it holds a secret: {_join(places)}"


def refuse_secrets(question: str, files: Iterable[ContextFile]) -> None:
    """Raise SecretsGiven if the question or a file holds what looks like a secret."""
    places = list_secrets(QUESTION, question)
    for file in files:
        # A picture is base64, which has no shapes of keys.
        if not file.media:
            places += list_secrets(file.name, file.text)
    if places:
        raise SecretsGiven(
            f"what is given looks like it holds secrets: {_join(places)}; nothing was sent. Take them out, "
            "or send them all the same: --allow-secrets, allowSecrets in calls, allow_secrets=True in Python"
        )


def _join(places: list[str]) -> str:
    more = len(places) - MAX_NAMED
    named = ", ".join(places[:MAX_NAMED])
    if more > 0:
        named += f" and {more} more"
    return named
