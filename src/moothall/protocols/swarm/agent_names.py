"""The names of explorers: six of the source documents', then numbers."""

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
