"""Settings that may come from outside: TOML, parsed within bounds, and a language, one that Moot has words in."""

import re
import tomllib
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, WithJsonSchema

from moothall.domain.facts import Language
from moothall.domain.language import validate_language
from moothall.errors import BadSetting
from moothall.locale.texts import list_languages

MAX_KEY_PARTS: Final = 32
"""Of one dotted key: the time that the parser takes grows with their square."""

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY: Final = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MAX_KEY_PARTS},}}")


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Parse a document; `what` names it in messages.

    Raises BadSetting when it is not TOML, when it is nested too deeply, and when a key in it has too many parts.
    """
    if _LONG_KEY.search(text):
        raise BadSetting(f"{what} has a dotted key of more than {MAX_KEY_PARTS} parts; write tables instead")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise BadSetting(f"{what} is not valid TOML: {cause}") from cause
    except RecursionError as cause:
        raise BadSetting(f"{what} is nested too deeply") from cause


def _validate(language: Language) -> Language:
    try:
        return validate_language(language)
    except BadSetting as fault:
        raise ValueError(str(fault)) from fault


KnownLanguage: TypeAlias = Annotated[
    Language, AfterValidator(_validate), WithJsonSchema({"type": "string", "enum": list(list_languages())})
]
