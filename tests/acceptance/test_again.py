"""Recurring questions: the same seats with fresh minds, compared with the last answer; nothing is said unless it changed."""

from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, seat_words, write_script

from moothall.app.recurring import has_changed
from moothall.domain.ids import SessionId
from moothall.reports.decision import Decision, SourcedClaim

QUESTION = "Keep the cache?"
OPEN = [
    "--protocol",
    "debate",
    "--option",
    "keep",
    "--option",
    "drop",
    "--file",
    "plan.md",
    "--session",
    "q",
]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (tmp_path / "plan.md").write_text("# Plan\nThe cache costs 3 ms.")
    return Cli(tmp_path / "home", tmp_path)


def write_answers(cli: Cli, choice: str) -> str:
    said = {"type": "propose", "text": f"We {choice} it.", "choice": choice, "confidence": 0.8}
    return write_script(
        cli.cwd / "minds.toml", {seat: {"propose": [said]} for seat in ("ada", "bob")}
    )


def test_a_question_is_asked_again_and_only_another_answer_is_told(cli: Cli) -> None:
    """G-5: same seats, options and files, none is told the former answer; quiet while it is the same, 6 and a line when not."""
    cli("run", QUESTION, *seat_words(write_answers(cli, "keep"), ("ada", "bob")), *OPEN)
    (cli.cwd / "plan.md").unlink()
    same = cli("again", "q")
    assert (same.out, same.err) == ("", "")
    write_answers(cli, "drop")
    changed = cli("again", "q", code=6)
    assert (changed.out.splitlines(), changed.err) == (
        [QUESTION, "  was: keep", "  now: drop", "  moot show q-again-2"],
        "",
    )
    # Any session of the chain may be named, and the last answer counts.
    assert cli("again", "q-again-1").out == ""
    report = cli.json("again", "q", "--require", "keep", code=6)
    assert (
        report["formerSession"],
        report["former"],
        report["changed"],
        report["latest"]["sessionId"],
    ) == (
        "q-again-3",
        "drop",
        False,
        "q-again-4",
    )
    exported = cli("export", "q-again-4", "jsonl").out
    assert "The cache costs 3 ms." in exported
    assert "decision_id" not in exported, "nobody was told of an earlier decision"


def test_a_session_that_was_cut_short_goes_on_and_what_cannot_be_repeated_is_refused(
    cli: Cli,
) -> None:
    """G-5: 3 while it waits, and the next call goes on with the same session; 2 with one sentence."""
    cli("run", QUESTION, *seat_words(write_answers(cli, "keep"), ("ada", "bob")), *OPEN)
    (cli.cwd / "minds.toml").unlink()
    assert "minds.toml" in cli("again", "q", code=2).err
    assert [each["sessionId"] for each in cli.json("list")["sessions"]] == ["q"]
    cli(
        "run",
        "Wait?",
        "--seat",
        "eve=mailbox",
        "--seat",
        "ada=mailbox",
        "--protocol",
        "debate",
        "--session",
        "w",
        code=3,
    )
    assert "has not ended" in cli("again", "w", code=2).err
    cli("cancel", "w")
    assert cli("again", "w", code=3).out == ""
    assert cli("again", "w", code=3).out == ""
    assert sorted(each["sessionId"] for each in cli.json("list")["sessions"]) == [
        "q",
        "w",
        "w-again-1",
    ]
    cli("cancel", "w-again-1")
    assert "no session is called 'gone'" in cli("again", "gone", code=2).err
    cli("demo", "debate", "--fast", "--session", "d")
    assert "is a demo" in cli("again", "d", code=2).err


def decide(choice: str, text: str) -> Decision:
    claim = SourcedClaim(text=text) if text else None
    return Decision(
        session=SessionId("s"), topic="Q?", status="concluded", decision=claim, choice=choice
    )


@pytest.mark.parametrize(
    ("former", "latest", "is_changed"),
    [
        (("Keep.", "We keep it."), ("keep", "It stays as it is, because it is fast."), False),
        (("keep", "We keep it."), ("drop", "We keep it."), True),
        (("", ""), ("keep", "We keep it."), True),
        (("keep", "We keep it."), ("", ""), True),
        (("", ""), ("", ""), False),
        (("", "Rewrite the parser in spring."), ("", "We rewrite the parser in spring!"), False),
        (("", "Rewrite the parser in spring."), ("", "Do not rewrite the parser in spring."), True),
        (("", "Rewrite the parser in spring."), ("keep", "Hire two testers first."), True),
    ],
)
def test_answers_are_compared_by_choice_and_without_one_by_words(
    former: tuple[str, str], latest: tuple[str, str], is_changed: bool
) -> None:
    """G-5"""
    assert has_changed(decide(*former), decide(*latest)) is is_changed
