"""Values of a run as plain JSON: which fields, and under which names the files of the source have them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_CAPITAL: Final = re.compile("[A-Z]")


def take_fields(value: object, names: str) -> dict[str, Any]:
    """The fields of a value under their names in the files: `agentId=seat` takes `seat`, `coreIdea` takes `core_idea`."""
    taken = {}
    for name in names.split():
        key, _, field = name.partition("=")
        taken[key] = to_plain_json(getattr(value, field or _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)))
    return taken


def name_ideas(numbers: Iterable[int]) -> list[str]:
    """The ids of ideas."""
    return [f"idea-{number}" for number in numbers]


def to_camel_case(name: str) -> str:
    """`core_idea` as `coreIdea`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def to_plain_json(value: Any) -> Any:
    """A value with lists and objects alone."""
    if isinstance(value, Mapping):
        return {str(name): to_plain_json(each) for name, each in value.items()}
    return [to_plain_json(each) for each in value] if isinstance(value, tuple) else value
