"""Text in two languages, each written where it is used: `decision = both("Decision", "决定")`."""

from collections.abc import Mapping
from functools import cache
from typing import Generic, Self, TypeVar, overload

from moothall.domain.facts import Language

T = TypeVar("T")
W = TypeVar("W", bound="TwoLanguages")


class Both(Generic[T]):
    """A value in English and in Chinese; read from a `TwoLanguages` it is the one in its language."""

    __slots__ = ("en", "zh")

    def __init__(self, en: T, zh: T) -> None:
        self.en = en
        self.zh = zh

    @overload
    def __get__(self, text: None, owner: type) -> Self: ...

    @overload
    def __get__(self, text: "TwoLanguages", owner: type) -> T: ...

    def __get__(self, text: "TwoLanguages | None", owner: type) -> Self | T:
        if text is None:
            return self
        return self.zh if text.language == "zh" else self.en


def both(en: T, zh: T) -> Both[T]:
    """A value in English and in Chinese."""
    return Both(en, zh)


class TwoLanguages:
    """A set of texts in one language: subclass it, and write its texts with `both`."""

    __slots__ = ("language",)

    def __init__(self, language: Language) -> None:
        self.language: Language = language


@cache
def map_texts(told: TwoLanguages) -> Mapping[str, str]:
    """The names of a set's texts, by the texts; where two are equal, the first name in the alphabet. Sets live for ever."""
    named = [(name, getattr(told, name)) for name in dir(told) if isinstance(getattr(type(told), name, None), Both)]
    return {text: name for name, text in reversed(named) if isinstance(text, str)}


def in_each_language(texts: type[W]) -> dict[Language, W]:
    """The set of texts in both languages."""
    return {"en": texts("en"), "zh": texts("zh")}
