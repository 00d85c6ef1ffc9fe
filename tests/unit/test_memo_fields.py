"""What heads a decision: its sentence, who does what by when, how advice was taken, whose words moved whom."""

from dataclasses import replace

import pytest
from tests.support.play_council import (
    advisory,
    build_taken,
    challenge,
    debate,
    propose,
    support,
    synthesize,
    vote,
)
from tests.support.play_council import build_seat as council_seat
from tests.support.play_persona import (
    MeetingRun,
    bid_silence,
    bid_to_speak,
    build_draft,
    build_seat,
    build_stand,
)
from tests.support.play_roundtable import ConferenceRun
from tests.support.play_roundtable import build_seat as role_seat

from moothall.domain.ids import SeatId
from moothall.domain.topic import ActionItem, extract_headline
from moothall.features.persona.timeline import build_decision as build_persona_decision
from moothall.features.roundtable.facts import Minutes, RoundtableSettings
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.sections import read_actions
from moothall.features.roundtable.timeline import build_decision as build_minutes_decision
from moothall.protocols.council.timeline import build_decision
from moothall.reports.decision import Decision, TakenAdvice

HEADLINE = "We move the reports now and the database in January."


def test_a_debate_hands_on_the_sentence_of_what_carried_and_who_does_what_by_when() -> None:
    """D-22"""
    table = debate(council_seat("ada"), council_seat("bob"))
    table.say(ada=propose("move"), bob=propose("wait"))
    table.pass_until("synthesize")
    table.says("ada", synthesize("move", headline=HEADLINE)).pass_until("vote")
    table.says("ada", vote())
    setting = vote("conditional_support", condition="The disk is doubled.", moved_by=2)
    table.says("bob", replace(setting, due="15 December", who="operations"))
    decision = build_decision(table.timeline)
    assert decision.headline == HEADLINE
    only = decision.obligations[0]
    assert (only.seat, only.text) == ("bob", "The disk is doubled.")
    assert (only.due, only.who) == ("15 December", "operations")
    moved = {each.seat: each.moved_by_whom for each in decision.positions}
    assert moved == {"ada": None, "bob": "ada"}


def test_an_owner_says_how_it_took_each_advice_and_what_is_to_be_done() -> None:
    """D-8"""
    table = advisory(council_seat("ada"), council_seat("bob"), council_seat("cy"))
    table.say(ada=propose("buy"), bob=propose("build"), cy=propose("buy"))
    first = table.state.last_id
    table.says("bob", challenge(2)).says("cy", support(2))
    taken = (build_taken(first + 1, "declined", "Too dear."), build_taken(first + 2, "adopted", ""))
    actions = (ActionItem(who="legal", text="Read the contract.", due="Friday"),)
    table.says("ada", synthesize("buy", taken=taken, actions=actions))
    decision = build_decision(table.timeline)
    assert decision.actions == actions
    assert decision.advice == (
        TakenAdvice(seat=SeatId("bob"), how="declined", why="Too dear.", entries=(first + 1,)),
        TakenAdvice(seat=SeatId("cy"), how="adopted", entries=(first + 2,)),
    )


def conclude_meeting() -> Decision:
    table = MeetingRun(build_seat("ada"), build_seat("bob"))
    table.bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4)).speaks("ada", "It costs 5.")
    table.bids(ada=bid_silence(0.1), bob=bid_silence(0.1))
    table.drafts("ada", replace(build_draft("Cut 10 %."), headline=HEADLINE))
    stand = build_stand("conditional", moved_by=2, condition="Not in research.")
    return build_persona_decision(
        table.stands(bob=replace(stand, due="1 March", who="ada")).timeline
    )


def test_a_meeting_hands_on_the_same() -> None:
    """P-15"""
    decision = conclude_meeting()
    assert decision.headline == HEADLINE
    only = decision.obligations[0]
    assert (only.text, only.due, only.who) == ("Not in research.", "1 March", "ada")
    assert {each.seat: each.moved_by_whom for each in decision.positions}[SeatId("bob")] == "ada"


MINUTES = f"""## Summary
They talked.
## Consensus reached
One letter to all.
## Disagreements left open
None.
## Action items
- legal: the last paragraph (by 15:00)
- **communication**: the letter, to legal (see #3)
- Somebody must call them
- none
[HEADLINE] {HEADLINE}
[CHOICE] One letter"""


def test_minutes_give_their_sentence_and_their_action_items() -> None:
    """R-9"""
    run = ConferenceRun(role_seat("ada"), settings=RoundtableSettings(max_rounds=1)).says("Yes.")
    said = Minutes.from_text(MINUTES)
    run.put(RULES.forms["minutes"].reply(ask=run.ask.id, seat=run.ask.seat, said=said))
    decision = build_minutes_decision(run.timeline)
    assert (decision.headline, decision.choice) == (HEADLINE, "One letter")
    assert decision.decision is not None
    assert "[HEADLINE]" not in decision.decision.text
    assert decision.actions == (
        ActionItem(who="legal", text="the last paragraph", due="15:00"),
        ActionItem(who="communication", text="the letter, to legal (see #3)"),
        ActionItem(text="Somebody must call them"),
    )


@pytest.mark.parametrize(
    ("line", "item"),
    [
        (
            "1. 法务：最后一段（截止：15:00）",
            ActionItem(who="法务", text="最后一段", due="15:00"),
        ),
        (
            "* ops: restart it (until Monday).",
            ActionItem(who="ops", text="restart it", due="Monday"),
        ),
        ("- https://x.org/a", ActionItem(text="https://x.org/a")),
        ("- (by Monday)", ActionItem(text="(by Monday)")),
        ("- :", ActionItem(text=":")),
    ],
)
def test_an_action_item_is_a_line_in_the_form_that_is_asked_for(
    line: str, item: ActionItem
) -> None:
    assert read_actions(line) == (item,)


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        ("[HEADLINE] We move.", "We move."),
        ("**[标题] 我们搬。**", "我们搬。"),
        ("[headline]: `A`\n[HEADLINE] B", "B"),
        ("[HEADLINE] " + "x" * 301, ""),
        ("headline without a mark", ""),
    ],
)
def test_a_headline_stands_on_a_line_of_its_own(text: str, headline: str) -> None:
    """The last one counts; an essay is none."""
    assert extract_headline(text) == headline
