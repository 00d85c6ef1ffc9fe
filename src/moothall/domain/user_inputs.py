"""The user's later words: what the user added after the question, and what a result answers to it (Q-8)."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from annotated_types import Ge, MaxLen

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, one_line, shorten_text, strip_control

MAX_INPUTS: Final = 20
"""How many inputs of the user a state keeps: the newest."""
MAX_INPUT_LENGTH: Final = 6_000
"""How much of one input a prompt shows."""
MAX_REPLIES: Final = 20
MAX_REPLY_LENGTH: Final = 2_000
_REPLY: Final = compile_late(
    r"^[ \t]*(?:[*>-][ \t]+)?\*{0,2}[\[【](?:answer|答复)[ \t]*[#＃]?(?P<number>\d{1,6})[\]】]\*{0,2}[ \t]*[:：]?[ \t]*"
    r"(?P<text>[^\n]{1,2000})$",
    re.IGNORECASE | re.MULTILINE,
)
"""How a text answers an input of the user: a line `[ANSWER #2] …`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInput:
    """What the user added. `number` is what prompts and answers call it, `seq` the ledger entry that holds it."""

    number: int
    seq: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReply:
    """What a result answers to an input of the user."""

    input: Annotated[int, Ge(1)]
    text: Annotated[str, MaxLen(MAX_REPLY_LENGTH)]


InputReplies = Annotated[tuple[InputReply, ...], MaxLen(MAX_REPLIES)]


def add_input(
    inputs: tuple[UserInput, ...], number: int, seq: int, text: str
) -> tuple[UserInput, ...]:
    """Return the inputs with one more."""
    shown = shorten_text(strip_control(text), MAX_INPUT_LENGTH)
    return (*inputs, UserInput(number=number, seq=seq, text=shown))[-MAX_INPUTS:]


def list_numbers(inputs: Iterable[UserInput]) -> str:
    """Return the numbers of inputs as a prompt names them: `#4 #7`."""
    return " ".join(f"#{each.number}" for each in inputs)


def read_replies(text: str) -> tuple[InputReply, ...]:
    """Return what a text answers to inputs of the user, in its lines `[ANSWER #2] …`."""
    replies = []
    for match in _REPLY.finditer(text):
        reply = one_line(match["text"])
        if reply and int(match["number"]) > 0:
            replies.append(InputReply(input=int(match["number"]), text=reply))
    return tuple(replies[:MAX_REPLIES])


def drop_replies(text: str) -> str:
    """Return a text without its lines `[ANSWER #2] …`; a text that is nothing else stays as it is."""
    return _REPLY.sub("", text).strip() or text


def join_replies(said: Iterable[tuple[SeatId, Iterable[InputReply]]]) -> Mapping[int, str]:
    """Return what several seats answer to each input, each with its name."""
    texts: dict[int, list[str]] = {}
    for seat, replies in said:
        for number, text in index_replies(replies).items():
            texts.setdefault(number, []).append(f"{seat}: {text}")
    return {number: " · ".join(each) for number, each in texts.items()}


def index_replies(replies: Iterable[InputReply]) -> Mapping[int, str]:
    """Return the words to each input by its number; of two the first."""
    answers: dict[int, str] = {}
    for reply in replies:
        if reply.text.strip():
            answers.setdefault(reply.input, reply.text)
    return answers
