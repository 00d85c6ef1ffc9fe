"""What a person at a terminal is asked waits for the screen, where there is one."""

import asyncio

from moothall.surfaces.cli.terminal_session import TerminalSession


def test_without_a_screen_there_is_nothing_to_catch_up_with() -> None:
    terminal = TerminalSession()
    assert asyncio.run(terminal.catch_up()) is False
    assert terminal.find_deadline("1.speech.ada") is None
    assert terminal.describe_stop() == "\nStopped. Nothing was recorded."
