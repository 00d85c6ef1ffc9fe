"""A text that is nothing but a pass is a pass, in every protocol where passing exists (Q-9)."""

import pytest
from tests.support.council_scenes import ADA, BOB, CY, at
from tests.support.play_council import (
    build_mailbox_seat,
    challenge,
    debate,
    propose,
    support,
)
from tests.support.play_persona import MeetingRun, bid_silence, bid_to_speak
from tests.support.play_persona import build_seat as seat_in_meeting
from tests.support.swarm_scenes import five

from moothall.domain.effects import Ask
from moothall.domain.ids import AskId, SeatId
from moothall.domain.vocabulary import is_pass_text
from moothall.protocols.council.facts import Contribution
from moothall.protocols.swarm.answers import Collision
from moothall.protocols.swarm.prompts import build_answer_rules
from moothall.reading.answers import read_answer

PASSES = (
    "pass",
    "Pass.",
    "I pass.",
    "I'll pass on this one",
    "**I pass**",
    "(pass)",
    '"Pass."',
    "Skip",
    "nothing to add",
    "I have nothing to add.",
    "I've nothing more to add here!",
    "Pass: nothing to add.",
    "I pass — nothing further to say.",
    "No further comments.",
    "跳过",
    "跳过。",
    "我跳过本轮",
    "没有补充",
    "我没有补充。",
    "跳过：没有补充",
    "没有其他要补充的了。",
    "无补充",
)
WORDS = (
    "",
    "...",
    "Pass the bill.",
    "I pass the budget on to bob.",
    "Pass, because Redis is right.",
    "Nothing to add but the cost: 40,000.",
    "I have nothing to add except that it fails at scale.",
    "Skip the cache.",
    "Nothing.",
    "Nothing works.",
    "跳过缓存层",
    "没有补充材料就不能决定",
    "没有",
    "no",
)


@pytest.mark.parametrize("text", PASSES)
def test_a_text_of_nothing_but_a_pass(text: str) -> None:
    """Q-9"""
    assert is_pass_text(text)
    assert is_pass_text(f"  {text}\n")


@pytest.mark.parametrize("text", WORDS)
def test_a_text_that_says_something(text: str) -> None:
    """Q-9, M-16"""
    assert not is_pass_text(text)


@pytest.mark.parametrize("text", PASSES)
@pytest.mark.parametrize("phase", ["argue", "answer", "synthesize"])
def test_a_pass_in_the_text_of_a_contribution_is_no_contribution(phase: str, text: str) -> None:
    """Q-9: such a text was an open challenge, or a resolution to vote on."""
    table = at("argue")
    if phase == "answer":
        table.say(ada=challenge(3, "It costs."), bob=support(3), cy=support(3))
    elif phase == "synthesize":
        table.pass_until("synthesize")
    name = table.asks[0].seat
    raw = {"type": {"argue": "challenge", "answer": "support"}.get(phase, "synthesize")}
    read = read_answer(table.brief(name), {**raw, "text": text})
    assert isinstance(read.said, Contribution)
    assert read.said.type == "pass"
    assert read.said.text.strip() == text
    lines = len(table.state.lines)
    assert len(table.says(name, read.said).state.lines) == lines


def test_an_agent_from_outside_passes_likewise() -> None:
    """Q-9, D-5"""
    table = debate(ADA, build_mailbox_seat("bob"), CY)
    table.say(ada=propose("yes"), bob=propose("no"), cy=propose("yes")).say(ada=support(3))
    rules = table.rules.answer_rules(table.state, table.ask("bob"))
    raw = {"type": "challenge", "text": "I have nothing to add."}
    read = read_answer(rules, raw, is_strict=True)
    assert isinstance(read.said, Contribution)
    assert (read.said.type, read.mends) == ("pass", ("read type 'challenge' → 'pass'",))


def test_beside_a_choice_the_word_may_be_the_answer() -> None:
    """Q-9"""
    table = debate(ADA, BOB, topic="Should the bill pass or fail?")
    read = read_answer(table.brief("ada"), {"text": "Pass.", "choice": "pass", "confidence": 0.7})
    assert isinstance(read.said, Contribution)
    assert (read.said.type, read.said.choice) == ("propose", "pass")


def test_a_speaker_who_passes_gives_the_floor_to_the_next() -> None:
    """Q-9, P-3: silence leaves nothing."""
    table = MeetingRun(seat_in_meeting("ada"), seat_in_meeting("bob"))
    table.bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8))
    before = table.state.last_id
    table.speaks("ada", "I pass.")
    assert table.state.last_id == before
    assert table.asked == ["1.speech.bob"]
    table.speaks("bob", "Nothing to add.")
    assert table.state.last_id == before
    assert table.state.turn == 2
    table.bids(ada=bid_silence(0.1), bob=bid_silence(0.1))
    assert table.state.ended_by == "nobody_spoke"


def test_a_word_on_a_finding_that_passes_is_no_challenge() -> None:
    """Q-9, S-17"""
    run = five()
    ask = Ask(
        id=AskId("10.collide.TanWei"), seat=SeatId("TanWei"), kind="collide", turn=1, patience=60.0
    )
    said = Collision(action="challenge", content="I have nothing to add.")
    normalized, notes = build_answer_rules(run.state, ask).normalize(said)
    assert normalized == Collision(action="pass", content="I have nothing to add.")
    assert notes == ("read action 'challenge' → 'pass'",)
