"""What a person typed at a terminal and did not finish: nothing of it is typed twice (M-8)."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from moothall.domain.ids import AskId, SeatId
from moothall.domain.person import PersonChoice
from moothall.participants.human import PersonQuestion
from moothall.surfaces.cli.person import PersonScreen, TerminalPrompt

CHOICES = (
    PersonChoice(value="support", text="support"),
    PersonChoice(value="oppose", text="oppose"),
)
VOTE = PersonQuestion(
    seat=SeatId("ada"),
    ask=AskId("1.vote.ada"),
    step="vote",
    language="en",
    text="How do you vote?",
    choices=CHOICES,
)
WHY = replace(VOTE, step="why", text="Why?", choices=(), is_words=True)


def answer(question: PersonQuestion, keys: str) -> str | None:
    """The answer to one question in a process of its own."""

    async def ask() -> str | None:
        with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
            typed.send_text(keys)
            return await TerminalPrompt(PersonScreen("s"))(question)

    return asyncio.run(ask())


def test_an_answer_to_an_earlier_question_stands_in_its_prompt_when_the_ask_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))
    assert answer(VOTE, "2\r") == "2"
    # Ctrl-D: the person goes in the middle of the next question.
    assert answer(WHY, "It is too\x04") is None
    assert answer(VOTE, "\r") == "2"
    assert answer(WHY, " late.\r") == "It is too late."
    assert answer(WHY, "\r") == "It is too late."


def test_another_ask_begins_empty_and_a_complaint_asks_for_other_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))
    assert answer(VOTE, "maybe\r") == "maybe"
    assert answer(replace(VOTE, complaint="choose one"), "\r") == ""
    assert answer(replace(VOTE, ask=AskId("2.vote.ada")), "\r") == ""


def test_who_leaves_keeps_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))
    assert answer(VOTE, "1\r") == "1"
    assert answer(WHY, "/leave\r") is None
    assert answer(WHY, "\r") == ""
    assert answer(VOTE, "\r") == "1"
