"""M-2, D-7: ballots are read kindly, however a mind writes them down."""

import json

import pytest
from tests.support.council_scenes import at
from tests.support.play_council import PASS, synthesize, vote

from moothall.domain.effects import Brief
from moothall.errors import BadAnswer
from moothall.protocols.council.facts import Contribution
from moothall.reading.answers import read_answer
from moothall.reading.person_asks import build_person_ask, read_plain_answer


def ask_for_ballot() -> Brief:
    """A seat that Moot asks for its position on #5 and #6."""
    return (
        at("synthesize")
        .say(ada=synthesize("a", "A."), bob=synthesize("b", "B."), cy=PASS)
        .brief("ada")
    )


@pytest.mark.parametrize(
    "raw",
    [
        '{"ballot": [{"candidate": 5, "position": "support"}, {"candidate": 6, "position": "oppose"}]}',
        '{"ballot": {"#5": "support", "#6": "oppose"}}',
        '{"ballot": {"5": {"position": "yes"}, "6": {"position": "no"}}}',
        '{"ballot": ["#5 support", "6: oppose"]}',
        '{"ballot": [{"candidate": "#5", "position": "I agree."}, {"candidate": 6, "vote": "no"}]}',
        '{"5": "support", "6": "oppose"}',
        '{"text": "I support #5, and I oppose #6."}',
        "I support #5 and oppose #6.",
        "我支持 #5，我反对 #6。",
        '{"ballot": "#5: yes; #6: no"}',
    ],
)
def test_a_ballot_is_read_however_it_is_written(raw: str) -> None:
    said = read_answer(ask_for_ballot(), raw).said
    assert isinstance(said, Contribution)
    assert {vote.candidate: vote.position for vote in said.ballot} == {5: "support", 6: "oppose"}


@pytest.mark.parametrize(
    "raw",
    [
        '{"position": "support", "refers_to": 6}',
        '{"vote": "yes", "candidate": "#6"}',
        '{"ballot": "support #6"}',
        "I support #6.",
    ],
)
def test_a_position_on_one_of_them_is_a_ballot(raw: str) -> None:
    reading = read_answer(ask_for_ballot(), raw)
    assert isinstance(reading.said, Contribution)
    assert [(vote.candidate, vote.position) for vote in reading.said.ballot] == [(6, "support")]
    assert "missing ballot #5" in reading.mends


@pytest.mark.parametrize("raw", ["#5 and #6: support", "I support #5 and #6.", "支持#5和#6"])
def test_one_position_on_several_of_them_is_one_on_each(raw: str) -> None:
    said = read_answer(ask_for_ballot(), raw).said
    assert isinstance(said, Contribution)
    assert {vote.candidate: vote.position for vote in said.ballot} == {5: "support", 6: "support"}


@pytest.mark.parametrize("raw", ["1", "A", "option 1", '{"vote": "A"}', '{"position": "1"}'])
def test_the_mark_of_a_line_is_no_abstention(raw: str) -> None:
    """M-14: it names a candidate that nobody knows, and passes on nothing."""
    with pytest.raises(BadAnswer):
        read_answer(ask_for_ballot(), raw)


def test_a_condition_in_words_is_kept() -> None:
    said = read_answer(
        ask_for_ballot(), '{"ballot": {"#5": "Yes, if the tests pass", "#6": "abstain"}}'
    ).said
    assert isinstance(said, Contribution)
    assert (said.ballot[0].position, said.ballot[0].condition) == (
        "conditional_support",
        "the tests pass",
    )


@pytest.mark.parametrize(
    "raw",
    [
        '{"position": "support"}',
        '{"ballot": []}',
        '{"ballot": [{"candidate": 4, "position": "support"}]}',
        "I support #5. On second thoughts I oppose #5.",
        "Nobody can support #5.",
        '{"ballot": [{"candidate": 5, "position": "support"}], "text": "I oppose #5."}',
    ],
)
def test_what_is_not_certain_is_asked_for_again(raw: str) -> None:
    with pytest.raises(BadAnswer):
        read_answer(ask_for_ballot(), raw)


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("support #5\noppose #6", ["support", "oppose"]),
        ("I support #5 and oppose #6.", ["support", "oppose"]),
        ("#5: yes\n#6: yes, if it is tested", ["support", "conditional_support"]),
        ("5 support, 6 oppose because it is slow", ["support", "oppose"]),
        ("支持 #6", ["support"]),
        ("abstain", ["abstain", "abstain"]),
    ],
)
def test_a_person_votes_in_plain_words(text: str, positions: list[str]) -> None:
    """M-8"""
    said = read_plain_answer(build_person_ask(ask_for_ballot()), text)
    assert isinstance(said, dict)
    assert [vote["position"] for vote in said["ballot"]] == positions


@pytest.mark.parametrize("text", ["support", "Yes.", "I like the first one.", "反对"])
def test_a_person_who_does_not_say_which_is_told_what_is_expected(text: str) -> None:
    """M-8: nobody is recorded as abstaining who did not."""
    with pytest.raises(BadAnswer, match="expected on a line for each number"):
        read_plain_answer(build_person_ask(ask_for_ballot()), text)


def test_a_person_is_not_asked_whether_a_sealed_vote_changed_its_mind() -> None:
    """M-8, D-7: of one motion as of several, the entries to choose from are those that the seat may read."""
    table = at("synthesize").say(ada=synthesize("a", "A."), bob=PASS, cy=PASS)
    table.says("ada", vote("support"))
    steps = {step.name: step for step in build_person_ask(table.brief("bob")).steps}
    numbers = steps["moved_by"].numbers
    assert [each for each in range(1, table.state.last_id + 1) if each in numbers] == [2, 4, 5]


def test_two_positions_on_one_candidate_are_none_and_hide_no_other() -> None:
    """M-14: which of the two was meant, only the seat could say; its vote on the other candidate counts."""
    votes = [(5, "support"), (5, "oppose"), (6, "support")]
    raw = json.dumps(
        {"ballot": [{"candidate": number, "position": position} for number, position in votes]}
    )
    reading = read_answer(ask_for_ballot(), raw)
    assert isinstance(reading.said, Contribution)
    assert {vote.candidate: vote.position for vote in reading.said.ballot} == {
        5: "abstain",
        6: "support",
    }
    assert [note for note in reading.mends if "abstain" in note] == [
        "read ballot.0.position 'support' → 'abstain'",
        "read ballot.1.position 'oppose' → 'abstain'",
    ]
