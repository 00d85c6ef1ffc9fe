"""A language as it comes from outside: one that Moot has words in."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, WithJsonSchema

from moothall.domain.facts import Language
from moothall.domain.language import validate_language
from moothall.errors import BadSetting
from moothall.locale.texts import list_languages


def _validate(language: Language) -> Language:
    try:
        return validate_language(language)
    except BadSetting as fault:
        raise ValueError(str(fault)) from fault


KnownLanguage: TypeAlias = Annotated[
    Language, AfterValidator(_validate), WithJsonSchema({"type": "string", "enum": list(list_languages())})
]
