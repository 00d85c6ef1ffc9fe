"""GUIDE.md: the whole protocol, for an agent that has nothing but a file system."""

from functools import cache
from importlib.resources import files

from moothall.domain.facts import Language


@cache
def read_guide(language: Language) -> str:
    """The page that lies in the folder of a project's conferences."""
    return (files("moothall.app.conferences") / f"guide.{language}.md").read_text(encoding="utf-8")
