"""Questions to a person at the terminal, one at a time."""

import asyncio
import sys
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from moot.domain.safe_text import strip_control
from moot.participants.human import AskPerson, PersonQuestion


def build_terminal_ask(pause: Callable[[], None], go_on: Callable[[], None]) -> AskPerson | None:
    """How to ask; None where nobody sits at a terminal. What moves on the screen is paused meanwhile."""
    if not sys.stdin.isatty():
        return None
    one_at_a_time = asyncio.Lock()
    paper = Console(stderr=True, highlight=False)

    async def ask(question: PersonQuestion) -> str | None:
        async with one_at_a_time:
            pause()
            try:
                if question.context:
                    paper.print(Text(f"\n{strip_control(question.context)}"))
                if question.complaint:
                    paper.print(Text(f"! {strip_control(question.complaint)}"))
                sys.stderr.write(f"{question.seat} · {question.field} ({question.hint})> ")
                sys.stderr.flush()
                return await _read_line()
            finally:
                go_on()

    return ask


async def _read_line() -> str | None:
    """The next line typed; None at the end of input. Can be cancelled: no thread is left reading."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def take_line() -> None:
        if not typed.done():
            typed.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin.fileno(), take_line)
    try:
        line = await typed
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return line.rstrip("\n") if line else None
