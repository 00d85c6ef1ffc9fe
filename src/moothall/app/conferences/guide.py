"""GUIDE.md: the whole protocol, for an agent that has nothing but a file system."""

from functools import cache
from pathlib import Path

from moothall.domain.facts import Language
from moothall.locale.texts import find_translation


@cache
def read_guide(language: Language) -> str:
    """The page that lies in the folder of a project's conferences."""
    return find_translation(Path(__file__).parent, "guide", language, "md").read_text(encoding="utf-8")
