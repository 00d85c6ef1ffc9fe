"""What participants write as Markdown, in a terminal and in a pipe (M-10)."""

import io

from rich.console import Console

from moothall.domain.ids import SessionId
from moothall.reports.blocks import Quote, Report
from moothall.reports.wording import SpokenLine
from moothall.surfaces.cli.render import show_report

SAID = "# Mine\n\nUse **Postgres**, see `List<int>`:\n- one\n- two\n\nthis line\nand that <b>one</b> [go](javascript:x)\x1b[2J\u202e"


def show(*, is_terminal: bool) -> str:
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=is_terminal, color_system=None, width=60)
    show_report(
        console,
        Report(
            session=SessionId("s"), language="en", title="", topic="Which?", decision=(Quote(SAID),)
        ),
    )
    return printed.getvalue()


def test_markdown_is_rendered_in_a_terminal_and_cannot_do_anything() -> None:
    """M-10: emphasis and lists are shown as such, lines stay lines, HTML stays text, nothing controls the terminal."""
    shown = show(is_terminal=True)
    assert "Use Postgres, see List<int>:" in shown
    assert " • one" in shown
    assert "this line\n│ and that <b>one</b>" in shown
    assert "\x1b]8" not in shown
    assert "[2J" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_markdown_keeps_its_lines_in_a_pipe_each_behind_a_bar() -> None:
    """M-10: no line of somebody's words passes as Moot's own."""
    assert show(is_terminal=False).split("\n")[1:10] == [
        "│ # Mine",
        "│",
        "│ Use **Postgres**, see `List<int>`:",
        "│ - one",
        "│ - two",
        "│",
        "│ this line",
        "│ and that <b>one</b> [go](javascript:x)[2J",
        "",
    ]


def test_a_speech_of_one_line_stays_one_and_a_longer_one_keeps_its_lines() -> None:
    """M-10"""
    assert SpokenLine("#2 ada", "Yes.") == "#2 ada: Yes."
    assert SpokenLine("#2 ada", "") == "#2 ada"
    assert (
        SpokenLine("#2 ada", "Yes:\n- one\n\n- two")
        == "#2 ada\n    │ Yes:\n    │ - one\n    │\n    │ - two"
    )
