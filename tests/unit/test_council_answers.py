"""What a vote counts for (Q-9), and where the blind answers say nothing of what was decided (Q-10)."""

import json

import pytest
from tests.support.play_council import (
    DeliberationRun,
    build_seat,
    consensus,
    debate,
    propose,
    synthesize,
    vote,
)

from moothall.domain.safe_text import encode_fields
from moothall.domain.topic import Topic
from moothall.protocols.council.facts import ConsensusSettings, Contribution, CouncilSettings
from moothall.protocols.council.plugin import DEBATE
from moothall.protocols.council.timeline import build_decision
from moothall.reading.answers import read_answer
from moothall.reports.decision import Decision
from moothall.reports.plain_text import render_lines

NAMES = ("ada", "bob", "cy", "dee")
OPTIONS = ("A", "B", "C", "D")


def open_board(
    blind: str, options: tuple[str, ...] = OPTIONS, kind: str = "debate"
) -> DeliberationRun:
    """Four seats that wrote these choices blind, brought to the vote on their proposals."""
    subject = Topic(options=options)
    seats = [build_seat(name) for name in NAMES]
    table = (
        consensus(
            *seats,
            subject=subject,
            settings=ConsensusSettings(debate="always", threshold=0.5, rounds=1),
        )
        if kind == "consensus"
        else debate(*seats, subject=subject, settings=CouncilSettings(debate="always"))
    )
    for name, choice in zip(NAMES, blind, strict=True):
        table.says(name, propose(choice, f"{name} would take {choice}."))
    return table.pass_until("vote")


def choose(table: DeliberationRun, **choices: object) -> Decision:
    """Vote as models do: an option, and perhaps more fields."""
    given: dict[str, Contribution] = {}
    for name, choice in choices.items():
        fields = choice if isinstance(choice, dict) else {"choice": choice}
        said = read_answer(table.brief(name), {"confidence": 0.9, **fields}).said
        assert isinstance(said, Contribution)
        given[name] = said
    table.say(**given)
    return build_decision(table.timeline)


@pytest.mark.parametrize("kind", ["debate", "consensus"])
@pytest.mark.parametrize("blind", ["AABB", "AAAA", "ABDD"])
def test_an_option_that_all_vote_for_is_decided_although_nobody_proposed_it(
    kind: str, blind: str
) -> None:
    """Q-9: what all say is a candidate, in their own words."""
    table = open_board(blind, kind=kind)
    decision = choose(table, ada="C", bob={"choice": "C", "text": "It runs."}, cy="C", dee="C")
    assert table.closed.carried
    assert (decision.choice, decision.support, decision.dissent) == ("C", 1.0, ())
    assert decision.decision is not None
    assert decision.decision.text == "It runs."
    assert {each.position for each in table.closed.ballots} == {"support"}


def test_an_option_without_a_word_is_its_own_text() -> None:
    decision = choose(open_board("AABB"), ada="C", bob="C", cy="C", dee="C")
    assert decision.decision is not None
    assert decision.decision.text == "C"


def test_an_unproposed_option_wins_by_votes_and_its_opponents_dissent() -> None:
    decision = choose(open_board("AABB"), ada="C", bob="C", cy="C", dee="B")
    assert decision.choice == "C"
    assert [(each.seat, each.kind) for each in decision.dissent] == [("dee", "oppose")]
    lost = choose(open_board("AABB"), ada="A", bob="A", cy="A", dee="C")
    assert lost.choice == "A"
    assert [each.seat for each in lost.dissent] == ["dee"]


def test_no_side_wins_by_a_tie_between_what_was_and_what_was_not_proposed() -> None:
    table = open_board("AABB")
    decision = choose(table, ada="C", bob="C", cy="A", dee="A")
    assert decision.decision is None
    assert not table.closed.carried


def test_a_condition_on_an_unproposed_option_is_an_obligation() -> None:
    """D-22: it is support, and stays open until it is met."""
    conditional = {"choice": "C", "condition": "There is a backup.", "due": "May"}
    decision = choose(open_board("AABB"), ada=conditional, bob="C", cy="C", dee="abstain")
    assert (decision.choice, decision.consensus_type) == ("C", "convergent")
    assert [(each.seat, each.text, each.due) for each in decision.obligations] == [
        ("ada", "There is a backup.", "May")
    ]


def test_approvals_of_texts_say_nothing_of_an_option_that_no_text_names() -> None:
    table = open_board("AAAA")
    decision = choose(table, ada="C", bob="A", cy="A", dee="A")
    assert decision.choice == "A"


# no chance where code would compare words


def settle_words(blind: tuple[str, ...], decided: str) -> DeliberationRun:
    table = debate(
        *[build_seat(name) for name in NAMES[: len(blind)]],
        settings=CouncilSettings(debate="always"),
    )
    for name, choice in zip(NAMES, blind, strict=False):
        table.says(name, propose(choice, f"We take {choice}, says {name}."))
    table.pass_until("synthesize").says("ada", synthesize(decided, f"The group takes {decided}."))
    return table.pass_until("vote").say_for_all(vote("support"))


@pytest.mark.parametrize(
    ("blind", "decided"),
    [
        (("use PostgreSQL",) * 3, "PostgreSQL"),
        (("PostgreSQL", "use PostgreSQL", "postgres"), "PostgreSQL 16"),
        (("all at once", "never", "later"), "two steps"),
        (("A", "A", "B"), "something else"),
    ],
)
def test_words_that_nobody_had_before_have_no_chance_of_being_right(
    blind: tuple[str, ...], decided: str
) -> None:
    """Q-10: "0 % likely right, disputed" said that a label was spelled otherwise."""
    table = settle_words(blind, decided)
    decision = build_decision(table.timeline)
    assert (decision.choice, decision.support) == (decided, 1.0)
    assert (decision.confidence, decision.confidence_from) == (None, None)
    assert decision.no_confidence == "new_answer"
    assert decision.strength == "fair"
    assert (decision.consensus_type, decision.overturned) == ("unanimous", False)
    (figures,) = [each for each in DEBATE.report(table.timeline).folds if each.name == "figures"]
    shown = "\n".join(line.text for line in render_lines(figures.blocks))
    assert "no figure: nobody had this answer in these words" in shown
    assert "disputed" not in shown
    told = json.loads(json.dumps(decision.to_json()))
    assert (told["confidence"], told["noConfidence"]) == (None, "new_answer")
    assert {
        each.confidence for each in table.closed.candidates if each.line == table.closed.motion
    } == {None}
    assert encode_fields(decision)["noConfidence"] == "new_answer"


@pytest.mark.parametrize(
    ("blind", "decided"),
    [(("A", "A", "B"), "A"), (("A", "A", "B"), "b"), (("yes", "yes", "no"), "no")],
)
def test_a_label_that_somebody_had_before_keeps_its_chance(
    blind: tuple[str, ...], decided: str
) -> None:
    """D-12"""
    decision = build_decision(settle_words(blind, decided).timeline)
    assert decision.confidence is not None
    assert decision.no_confidence is None


def test_a_listed_option_that_nobody_had_before_has_no_chance() -> None:
    """Q-10: it was found by talking, and the blind answers did not contain it."""
    decision = choose(open_board("AABB"), ada="C", bob="C", cy="C", dee="C")
    assert (decision.confidence, decision.no_confidence) == (None, "new_answer")
    assert (decision.choice, decision.strength) == ("C", "fair")


@pytest.mark.parametrize(("blind", "decided"), [(("yes",) * 3, "no"), (("no", "no"), "yes")])
def test_no_after_all_wrote_yes_has_no_chance_and_has_left_the_majority(
    blind: tuple[str, ...], decided: str
) -> None:
    """Q-10, D-12"""
    decision = build_decision(settle_words(blind, decided).timeline)
    assert (decision.confidence, decision.no_confidence) == (None, "new_answer")
    assert (decision.consensus_type, decision.strength) == ("contested", "disputed")
