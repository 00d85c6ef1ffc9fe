"""What was decided names what would change it (D-27)."""

import pytest
from tests.support.play_council import DeliberationRun, build_seat, debate, propose

from moothall.domain.topic import Topic
from moothall.protocols.council.facts import Contribution, CouncilSettings
from moothall.protocols.council.plugin import DEBATE
from moothall.protocols.council.timeline import build_decision
from moothall.reading.answers import read_answer
from moothall.reports.decision import WouldChange
from moothall.reports.plain_text import render_lines

OPTIONS = ("Postgres", "SQLite", "Redis")


def play(choices: str, condition: str = "") -> DeliberationRun:
    """A debate in which each seat writes and votes for the option of its letter."""
    named = [next(option for option in OPTIONS if option[0] == letter) for letter in choices]
    seats = [build_seat(f"s{number}") for number in range(len(choices))]
    table = debate(
        *seats, settings=CouncilSettings(debate="always"), subject=Topic(options=OPTIONS)
    )
    for seat, choice in zip(seats, named, strict=True):
        table.says(seat.id, propose(choice, f"{choice} it is, says {seat.id}."))
    table.pass_until("vote")
    given: dict[str, Contribution] = {}
    for seat, choice in zip(seats, named, strict=True):
        fields = {"choice": choice}
        if condition and seat.id == "s0":
            fields["condition"] = condition
        said = read_answer(table.brief(seat.id), {"confidence": 0.9, **fields}).said
        assert isinstance(said, Contribution)
        given[seat.id] = said
    table.say(**given)
    return table


@pytest.mark.parametrize("choices", ["PPP", "PPPS", "PPPPSR", "PPPPPPS"])
def test_so_many_more_voices_against_it_would_have_stopped_it(choices: str) -> None:
    """D-27: one fewer would not, when the same session is held with them."""
    change = build_decision(play(choices).timeline).would_change
    assert change is not None
    assert change.voices is not None
    assert play(choices + "S" * (change.voices - 1)).closed.carried
    assert not play(choices + "S" * change.voices).closed.carried


def test_the_next_answer_and_the_first_open_condition_are_named() -> None:
    """D-27"""
    table = play("PPPPPSSR", condition="There is a backup. It was tried.")
    change = build_decision(table.timeline).would_change
    assert change is not None
    assert (change.next_answer, change.open_point) == ("SQLite", "There is a backup.")
    shown = "\n".join(line.text for line in render_lines(DEBATE.report(table.timeline).argument))
    line = f"{change.voices} more voices against it; next comes: SQLite; open: There is a backup."
    assert line in shown


def test_what_all_agree_on_has_no_next_answer() -> None:
    change = build_decision(play("PPP").timeline).would_change
    assert change == WouldChange(voices=3)


def test_without_a_decision_nothing_changes_it() -> None:
    assert build_decision(play("PS").timeline).would_change is None
