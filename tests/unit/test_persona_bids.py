"""The settings `ageing` and `bids` of a persona meeting (P-9, P-10)."""

from dataclasses import replace

import pytest
from tests.support.persona_scenes import ADA, BOB, CY
from tests.support.play_persona import MeetingRun, bid_silence, bid_to_speak, build_seat

from moothall.domain.budget import Usage
from moothall.domain.ids import AskId, SeatId
from moothall.domain.roster import Seat
from moothall.errors import BadAnswer
from moothall.features.persona.facts import (
    BidsDeclared,
    FloorGiven,
    Intent,
    JointBids,
    NamedIntent,
    PersonaSettings,
)
from moothall.features.persona.plugin import PERSONA
from moothall.features.persona.report import add_and_describe_entry
from moothall.features.persona.timeline import PersonaTimeline
from moothall.reading.answers import read_answer

AGEING = PersonaSettings(blind=False, ageing=0.2)
TOGETHER = PersonaSettings(blind=False, bids="together")


def modelled(name: str, platform: str = "openai:m", stance: str = "") -> Seat:
    return build_seat(name, platform=platform, stance=stance)


def named(name: str, intent: Intent) -> NamedIntent:
    return NamedIntent(
        node_id=name,
        reaction_score=intent.reaction_score,
        intent_to_speak=intent.intent_to_speak,
        reason=intent.reason,
        view=intent.view,
        sufficient=intent.sufficient,
    )


def bid_together(table: MeetingRun, leader: str, **bids: Intent) -> MeetingRun:
    said = JointBids(bids=tuple(named(name, intent) for name, intent in bids.items()))
    fact = BidsDeclared(
        ask=AskId(f"{table.state.turn}.bids.{leader}"),
        seat=SeatId(leader),
        said=said,
        usage=Usage(calls=1),
    )
    return table.put(fact)


# Ageing


def test_a_bid_that_waits_grows_until_it_gets_the_floor() -> None:
    """P-10: cy's 0.5 waits twice, and then outbids 0.8."""
    table = MeetingRun(ADA, BOB, CY, settings=AGEING)
    for speaker, other in (("ada", "bob"), ("bob", "ada")):
        table.bids(
            **{speaker: bid_to_speak(0.8), other: bid_silence(0.4), "cy": bid_to_speak(0.5)}
        ).speaks(speaker, "Yes.")
    table.bids(ada=bid_to_speak(0.8), bob=bid_silence(0.4), cy=bid_to_speak(0.5))
    assert table.last == FloorGiven(
        turn=3, seat=SeatId("cy"), score=0.5 + 2 * 0.2, reason="waited", waited=2
    )
    assert "highest with what waiting added, waited 2 turns" in PERSONA.export(
        table.speaks("cy", "At last.").timeline, "minutes"
    )
    assert SeatId("cy") not in table.state.waited


def test_by_default_no_bid_grows() -> None:
    """P-10: the source's rule."""
    table = MeetingRun(ADA, BOB, CY)
    for turn in range(4):
        speaker, other = ("ada", "bob") if turn % 2 == 0 else ("bob", "ada")
        table.bids(
            **{speaker: bid_to_speak(0.8), other: bid_silence(0.4), "cy": bid_to_speak(0.79)}
        )
        assert table.last == FloorGiven(
            turn=turn + 1, seat=SeatId(speaker), score=0.8, reason="highest"
        )
        table.speaks(speaker, "Yes.")


def test_a_seat_that_falls_silent_or_fails_begins_anew() -> None:
    """P-10"""
    table = MeetingRun(ADA, BOB, CY, settings=AGEING)
    table.bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.5), cy=bid_to_speak(0.5)).speaks(
        "ada", "Yes."
    )
    assert table.state.waited == {"bob": 1, "cy": 1}
    table.bids(ada=bid_silence(0.4), bob=bid_silence(0.4), cy=bid_to_speak(0.5)).lose(
        "speech", "cy"
    )
    assert table.state.waited == {}


def test_waiting_does_not_keep_a_quiet_talk_open() -> None:
    """P-14: the threshold is for reactions."""
    table = MeetingRun(ADA, BOB, settings=replace(AGEING, ageing=1.0)).bids(
        ada=bid_to_speak(0.9), bob=bid_to_speak(0.5)
    )
    table.speaks("ada", "Yes.").bids(ada=bid_silence(0.1), bob=bid_to_speak(0.29))
    assert table.asked == ["2.draft.ada"]


# Together


def test_seats_of_one_model_bid_in_one_call() -> None:
    """P-9"""
    table = MeetingRun(
        modelled("ada"), BOB, modelled("cy"), modelled("di", "openai:other"), settings=TOGETHER
    )
    assert table.asked == ["1.bids.ada", "1.intent.bob", "1.intent.di"]
    bid_together(table, "ada", ada=bid_to_speak(0.9, "cash"), cy=bid_silence(0.3, "nothing"))
    assert table.asked == ["1.intent.bob", "1.intent.di"]
    table.bids(bob=bid_silence(0.1), di=bid_silence(0.1))
    assert table.asked == ["1.speech.ada"]
    assert [(bid.seat, bid.intent) for bid in table.timeline.turns[0].bids][:2] == [
        ("ada", bid_to_speak(0.9, "cash")),
        ("cy", bid_silence(0.3, "nothing")),
    ]


@pytest.mark.parametrize("platform", ["human", "mailbox", "script:a.toml", "python:f", "embedded"])
def test_people_programs_and_the_embedded_model_bid_apart(platform: str) -> None:
    """P-9: one platform is not one mind there, or its bids take no call."""
    table = MeetingRun(modelled("ada", platform), modelled("bob", platform), settings=TOGETHER)
    assert table.asked == ["1.intent.ada", "1.intent.bob"]


def test_a_seat_that_is_missing_in_the_answer_is_asked_apart() -> None:
    """P-9"""
    table = MeetingRun(modelled("ada"), modelled("bob"), modelled("cy"), settings=TOGETHER)
    bid_together(table, "ada", cy=bid_to_speak(0.9))
    assert table.asked == ["1.intent.ada", "1.intent.bob"]
    table.bids(ada=bid_silence(0.1), bob=bid_silence(0.1)).speaks("cy", "Yes.")
    assert table.asked == ["2.bids.ada"]


def test_a_lost_joint_bid_is_asked_for_apart() -> None:
    """P-9"""
    table = MeetingRun(modelled("ada"), modelled("bob"), settings=TOGETHER).lose(
        "bids", "ada", "malformed"
    )
    assert table.asked == ["1.intent.ada", "1.intent.bob"]


def test_a_joint_bid_is_asked_with_what_each_seat_is() -> None:
    """P-8, P-9"""
    table = MeetingRun(
        modelled("ada", stance="critic"), modelled("bob", stance="decider"), settings=TOGETHER
    )
    brief = table.brief("ada")
    for part in (
        "You are ada. Stance: critic.",
        "You are bob. Stance: decider.",
        "sufficient (bob)",
    ):
        assert part in brief.own
    assert brief.schema is not None
    assert brief.schema["properties"]["bids"]["items"]["properties"]["node_id"]["enum"] == [
        "ada",
        "bob",
    ]


def test_a_joint_bid_for_somebody_else_is_left_out_and_noted() -> None:
    """P-9, M-2"""
    table = MeetingRun(modelled("ada"), modelled("bob"), settings=TOGETHER)
    raw = {
        "bids": [
            {"node_id": "Ada", "reaction_score": "0.8", "intent_to_speak": "yes"},
            {"node_id": "eve", "reaction_score": 0.8, "intent_to_speak": True},
        ]
    }
    read = read_answer(table.brief("ada"), raw)
    assert read.said == JointBids(
        bids=(NamedIntent(node_id="ada", reaction_score=0.8, intent_to_speak=True),)
    )
    assert any("eve" in note for note in read.mends)
    with pytest.raises(BadAnswer):
        read_answer(table.brief("ada"), {"bids": "none"})


def test_a_joint_bid_is_told_seat_by_seat() -> None:
    """P-5"""
    table = MeetingRun(modelled("ada"), modelled("bob"), settings=TOGETHER)
    bid_together(table, "ada", ada=bid_to_speak(0.9, "cash"), bob=bid_silence(0.2, "nothing"))
    shown = PersonaTimeline(table.timeline.session)
    lines = [line for entry in table.entries for line in add_and_describe_entry(shown, entry)]
    assert "  ada 0.90 wants to speak: cash" in lines
    assert "  bob 0.20 silent: nothing" in lines
