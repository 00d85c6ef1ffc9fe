"""Files that were given with the question, as every seat reads them: fenced and labelled as data."""

from functools import lru_cache

from moothall.domain.facts import Language
from moothall.domain.safe_text import quote_lines
from moothall.domain.topic import ContextFile
from moothall.locale.catalogues import CONTEXT_FILES


@lru_cache(maxsize=16)
def format_context(language: Language, context: tuple[ContextFile, ...]) -> str:
    """The files below each other, every line of them behind a mark."""
    words = CONTEXT_FILES[language]
    parts = [f"{words.file.format(name=each.name)}\n{quote_lines(each.text)}" for each in context]
    return "\n".join((words.heading, *parts))
