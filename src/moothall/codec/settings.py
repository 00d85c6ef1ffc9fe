"""What comes from outside: a language, one that Moot has words in, and what is wrong with a value."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, TypeAdapter, ValidationError, WithJsonSchema

from moothall.domain.facts import Language
from moothall.locale.texts import list_languages, list_offered_languages


def explain_validation_error(
    cause: ValidationError, whole: str = "the parameters", tables: Mapping[str, type] | None = None
) -> str:
    """Say what is wrong with what was given, in one sentence: where, and what is expected.

    `tables` are the forms of a file's tables by their names: there people count from 1, and read which keys there are.
    """
    first = cause.errors(include_url=False)[0]
    where, given = find_fault(cause, 0 if tables is None else 1) or whole, first.get("input")
    match first["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden" | "unexpected_keyword_argument" if tables is None:
            return f"{where} does not belong to {whole}"
        case "extra_forbidden" | "unexpected_keyword_argument" if tables is not None:
            form: TypeAdapter[object] = TypeAdapter(
                tables[str(first["loc"][0]) if len(first["loc"]) > 1 else ""]
            )
            known = ", ".join(form.json_schema()["properties"])
            return f"{where} is not a known key; known: {known}"
        case "value_error" if not first["loc"]:
            return first["msg"].removeprefix("Value error, ")
        case "string_too_long" if isinstance(given, str):
            return f"{where} has {len(given)} characters; at most {first['ctx']['max_length']} are kept"
        case "string_too_short" if not given:
            return f"{where} is empty; say something"
        case _:
            shown = repr(given[:60]) if isinstance(given, str) else repr(given)[:60]
            return f"{where}: {first['msg'].removeprefix('Value error, ')} (given: {shown})"


def find_fault(cause: ValidationError, start: int = 0) -> str:
    """Return the path of the first fault, items counted from `start`, without the branches of unions that it names too."""
    parts = cause.errors(include_url=False)[0]["loc"]
    return ".".join(
        str(part + start) if isinstance(part, int) else part
        for part in parts
        if "[" not in str(part)
    )


def _validate_language(language: Language) -> Language:
    if language not in list_languages():
        raise ValueError(
            f"language = {language[:40]!r}; expected one of: {', '.join(list_offered_languages())}"
        )
    return language


KnownLanguage: TypeAlias = Annotated[
    Language,
    AfterValidator(_validate_language),
    WithJsonSchema({"type": "string", "enum": list(list_offered_languages())}),
]
