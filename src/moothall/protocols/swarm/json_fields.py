"""The names of a run: which fields of its values the messages and files of the source have, and under which names; and what
explorers are called there: six names, then numbers.
"""

import re
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final

_CAPITAL: Final = re.compile("[A-Z]")


def take_fields(value: object, names: str, **given: Any) -> dict[str, Any]:
    """The fields of a value in this order, under their names in JSON.

    `coreIdea` takes `core_idea`, `agentId=seat` takes `seat`, and `text=placed.text` a field of a field. `direction?` is null
    where it is empty; `idea#` is the id of an idea, or a list of them, and not its number. What is `given` is not looked up.
    """
    taken = {}
    for name in names.split():
        key, _, field = name.rstrip("?#").partition("=")
        if key in given:
            taken[key] = given[key]
            continue
        part = attrgetter(field or _CAPITAL.sub(lambda match: f"_{match[0].lower()}", key))(value)
        if name.endswith("#"):
            part = _name_by_id(part)
        taken[key] = None if name.endswith("?") and not part else to_plain_json(part)
    return taken


def _name_by_id(part: Any) -> Any:
    """Return the id of an idea, or the ids of several; None for none."""
    if isinstance(part, tuple):
        return name_ideas(part)
    return f"idea-{part}" if part else None


def name_ideas(numbers: Iterable[int]) -> list[str]:
    return [f"idea-{number}" for number in numbers]


def to_camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def to_plain_json(value: Any) -> Any:
    """A value with lists and objects alone."""
    if isinstance(value, Mapping):
        return {str(name): to_plain_json(each) for name, each in value.items()}
    return [to_plain_json(each) for each in value] if isinstance(value, tuple) else value


DISPLAY_NAMES: dict[str, str] = {
    "TanWei": "探微者",
    "SuYuan": "溯源者",
    "DongCha": "洞察者",
    "QiuSuo": "求索者",
    "XiLi": "析理者",
    "JianWei": "见微者",
}
AGENT_NAMES: tuple[str, ...] = tuple(DISPLAY_NAMES)


def agent_name(number: int) -> str:
    """The name of the explorer with this number, from 1: the six, then numbered on."""
    return AGENT_NAMES[number - 1] if number <= len(AGENT_NAMES) else f"Explorer{number}"


def format_agent_name(seat: str) -> str:
    """An agent as prompts and reports name it."""
    shown = DISPLAY_NAMES.get(seat)
    return f"{seat} ({shown})" if shown else seat
