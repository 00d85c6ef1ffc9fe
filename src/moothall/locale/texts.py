"""Reads catalogues: a TOML file for each language, read when its texts are first used; and says in which language a text is.

English is complete. What another language lacks, a key or an entry of a table, is read from English.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

FOLDER: Final = Path(__file__).parent
"""The folder of Moot's own catalogues."""
DEFAULT_LANGUAGE: Final = "en"
EXTENDS: Final = "extends"
"""The key of an English file that names the catalogue whose texts it adds to."""
SHOWN_LANGUAGES: Final = "MOOT_LANGUAGES"
"""The variable that names languages to offer although much of them is missing: `de,fr`."""
MIN_TRANSLATED: Final = 95
"""How many of a hundred English texts a language has that is offered to everybody."""

_WORDS: Final = re.compile(r"\{(\w+):\|([^|{}]*)\|([^|{}]*)\}")

Text: TypeAlias = "str | tuple[Text, ...] | Mapping[str, Text]"


class CountedText(str):
    """A text with pairs of words, the first for the number 1: `{calls} {calls:|call|calls}`."""

    def format(self, *values: object, **named: object) -> str:
        return _WORDS.sub(lambda pair: pair[2 if str(named[pair[1]]) == "1" else 3], self).format(
            *values, **named
        )


class Texts:
    """The texts of a catalogue in one language, each an attribute: a string, a tuple, or a mapping."""

    language: str
    """The language that was asked for."""

    def __init__(self, language: str, texts: Mapping[str, Text]) -> None:
        self.__dict__.update(texts)
        self.language = language


T_co = TypeVar("T_co", bound=Texts, covariant=True)


class Catalogue(Generic[T_co]):
    """The texts of one name in all languages: `COUNCIL_REPORT["zh"].minutes`.

    `texts` is the class that says which attributes there are; `folder` holds a folder for each language.
    """

    __slots__ = ("_by_language", "_folder", "_name", "_texts")

    def __init__(self, name: str, texts: type[T_co], folder: Path = FOLDER) -> None:
        self._name = name
        self._texts = texts
        self._folder = folder
        self._by_language: dict[str, T_co] = {}

    def __getitem__(self, language: str) -> T_co:
        """The texts in a language; in English where that language has none."""
        texts = self._by_language.get(language)
        if texts is None:
            texts = self._by_language[language] = self._texts(
                language, read_texts(self._folder, self._name, language)
            )
        return texts

    def list_all(self) -> list[T_co]:
        """The texts in each language that has some."""
        return [self[language] for language in list_languages(self._folder)]


@cache
def list_languages(folder: Path = FOLDER) -> tuple[str, ...]:
    """The languages that have a folder, in the order of their codes."""
    return tuple(
        sorted(
            path.name
            for path in folder.iterdir()
            if path.is_dir() and not path.name.startswith(("_", "."))
        )
    )


def list_offered_languages() -> tuple[str, ...]:
    """The languages that help, schemas and completion name: those that are nearly complete, and those that the user shows."""
    shown = os.environ.get(SHOWN_LANGUAGES, "").replace(",", " ").split()
    return tuple(
        language
        for language in list_languages()
        if language in shown or count_translated(language) >= MIN_TRANSLATED
    )


@cache
def count_translated(language: str, folder: Path = FOLDER) -> int:
    """How many of a hundred English texts a language has, as `make catalogues` counted them."""
    counted = _read_file(folder, "language", language).get("translated", "0")
    return int(str(counted))


@cache
def read_texts(folder: Path, name: str, language: str) -> Mapping[str, Text]:
    """A catalogue in a language: its own texts over those in English, and over the catalogue that it extends."""
    english = _read_file(folder, name, DEFAULT_LANGUAGE)
    base = english.get(EXTENDS)
    texts = {key: text for key, text in english.items() if key != EXTENDS}
    if language != DEFAULT_LANGUAGE and language in list_languages(folder):
        texts = _merge(texts, _read_file(folder, name, language))
    if isinstance(base, str):
        home = folder if (folder / DEFAULT_LANGUAGE / f"{base}.toml").exists() else FOLDER
        texts = _merge(read_texts(home, base, language), texts)
    return texts


def find_translation(folder: Path, name: str, language: str, ending: str) -> Path:
    """The file `NAME.LANGUAGE.ENDING` of a folder, in English where there is none in the language."""
    path = folder / f"{name}.{language}.{ending}"
    return path if path.exists() else folder / f"{name}.{DEFAULT_LANGUAGE}.{ending}"


@cache
def map_names(texts: Texts) -> Mapping[str, str]:
    """The names of texts, by the texts; where two are equal, the first name in the alphabet."""
    named = sorted(vars(texts).items(), key=lambda pair: pair[0], reverse=True)
    return {text: name for name, text in named if isinstance(text, str) and name != "language"}


def _read_file(folder: Path, name: str, language: str) -> Mapping[str, Text]:
    path = folder / language / f"{name}.toml"
    if language != DEFAULT_LANGUAGE and not path.exists():
        return {}
    return {
        key: _freeze(value)
        for key, value in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


def _freeze(value: object) -> Text:
    match value:
        case str():
            return CountedText(value) if _WORDS.search(value) else value
        case list():
            return tuple(_freeze(each) for each in value)
        case dict():
            return {key: _freeze(each) for key, each in value.items()}
        case _:
            raise TypeError(f"a catalogue holds strings, arrays and tables, not {value!r}")


def _merge(under: Mapping[str, Text], over: Mapping[str, Text]) -> dict[str, Text]:
    """Lay texts over others: tables are merged entry by entry, anything else is replaced."""
    merged = dict(under)
    for key, text in over.items():
        below = merged.get(key)
        merged[key] = (
            _merge(below, text)
            if isinstance(text, Mapping) and isinstance(below, Mapping)
            else text
        )
    return merged


def detect_language(text: str) -> str:
    """Return `zh` if at least a fifth of the letters are Han characters, else `en`: other languages are asked for by name."""
    # A fifth and not half: one Han character carries as much text as several Latin letters.
    letters = [char for char in text if char.isalpha()]
    han = sum(
        "\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003134f" for char in letters
    )
    return "zh" if letters and han * 5 >= len(letters) else "en"
