"""When seats may use tools, and how much of them one ask may use; recorded in the opening of a session."""

from dataclasses import dataclass
from typing import Final, Literal

ToolSwitch = Literal["auto", "on", "off"]
"""`auto`: where the given files are too long for a prompt. `on`: wherever files were given; models are shown passages alone."""
ToolOutcome = Literal["answered", "refused", "failed"]

MAX_TOOL_CALLS: Final = 50
CHARACTERS_PER_TOKEN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """The budget of one ask. What is over it is not called: the seat answers with what it has."""

    switch: ToolSwitch = "auto"
    calls: int = 8
    """How many calls are made, those that are refused included."""
    seconds: float = 60.0
    """After which time no further call is made."""
    tokens: int = 24_000
    """How many tokens all results may have together, about three characters each."""


DEFAULT_TOOL_RULES: Final = ToolRules()
