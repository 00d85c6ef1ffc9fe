"""Answers are settled before they are counted (Q-3): groups of words that say the same, and who held an answer first."""

import pytest
from tests.support.play_council import (
    DeliberationRun,
    build_seat,
    debate,
    propose,
    synthesize,
    vote,
)

from moothall.protocols.council.facts import CouncilSettings
from moothall.protocols.council.timeline import build_decision

NAMES = ("ada", "bob", "cy", "dee", "eve")


def decide_in_words(blind: tuple[str, ...], decided: str) -> DeliberationRun:
    """A debate in which every seat has an answer in its own words, and all support one text in the end."""
    table = debate(
        *[build_seat(name) for name in NAMES[: len(blind)]],
        settings=CouncilSettings(debate="always"),
    )
    for name, choice in zip(NAMES, blind, strict=False):
        table.says(name, propose(choice, f"We take {choice}, says {name}."))
    table.pass_until("synthesize").says("ada", synthesize(decided, f"The group takes {decided}."))
    return table.pass_until("vote").say_for_all(vote("support"))


@pytest.mark.parametrize(
    ("blind", "decided", "holders"),
    [
        (("PostgreSQL", "postgresql.", "MySQL"), "PostgreSQL", ("ada", "bob")),
        (("yes", "yes", "no"), "no", ("cy",)),
        (("yes", "yes", "yes"), "no", ()),
        # Nobody can tell whether this is the same in other words.
        (("use PostgreSQL",) * 3, "PostgreSQL", None),
    ],
)
def test_a_decision_says_whose_first_answer_it_was(
    blind: tuple[str, ...], decided: str, holders: tuple[str, ...] | None
) -> None:
    """Q-3"""
    assert build_decision(decide_in_words(blind, decided).timeline).held_before == holders
