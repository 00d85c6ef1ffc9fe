"""What the writer of a persona conclusion reads, and what becomes of its draft (P-6, P-8, P-15, M-2)."""

import json
from dataclasses import replace

import pytest
from tests.support.persona_scenes import ADA, BLIND, BOB, CY, quiet
from tests.support.play_persona import (
    MeetingRun,
    bid_silence,
    bid_to_speak,
    build_draft,
    build_opening,
    build_seat,
    build_stand,
)

from moothall.domain.facts import Language, SessionImported
from moothall.errors import BadAnswer
from moothall.features.persona.context import ContextLedger, render_context_ledger
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    MeetingConcluded,
    PersonaSpeech,
    Position,
    Stand,
)
from moothall.features.persona.plugin import PERSONA
from moothall.features.persona.state import RECORD_ROOM
from moothall.features.persona.timeline import build_decision
from moothall.reading.answers import read_answer
from moothall.reports.decision import Dissent

LONG = (
    "Speech {n}. "
    + "It is a fine day and nobody says a thing. " * 20
    + "We must keep {n} engineers, because 7 left."
)


def talk(table: MeetingRun, speeches: int, text: str = LONG) -> MeetingRun:
    for number in range(speeches):
        table.turn(("ada", "bob")[number % 2], text.format(n=number))
    return table


# P-8: what the writer reads


def test_the_writer_reads_every_entry_whole_while_there_is_room() -> None:
    """P-8: not only the last six turns."""
    brief = quiet(talk(MeetingRun(ADA, BOB), 20)).brief("ada")
    assert all(LONG.format(n=number) in brief.shared for number in range(20))
    assert brief.perception.memory.shown == frozenset(range(1, 22))


def test_beyond_the_room_the_writer_reads_the_claims_of_older_entries() -> None:
    """P-8: and never more than the room, a digest and the question."""
    brief = quiet(talk(MeetingRun(ADA, BOB), 60)).brief("ada")
    memory = brief.perception.memory
    assert sum(len(each.text) for each in memory.recent) <= RECORD_ROOM
    assert LONG.format(n=59) in brief.shared
    assert LONG.format(n=3) not in brief.shared
    assert "… We must keep 3 engineers, because 7 left." in brief.shared
    assert len(brief.shared) < RECORD_ROOM * 1.6


def test_what_the_writer_reads_does_not_grow_with_the_meeting() -> None:
    """P-8"""
    long, longer = (
        quiet(talk(MeetingRun(ADA, BOB), speeches)).brief("ada") for speeches in (120, 240)
    )
    assert len(longer.shared) <= 1.05 * len(long.shared)


def test_a_short_entry_costs_the_record_no_more_than_a_bounded_count() -> None:
    """P-8: hundreds of one-word entries do not make each step slower."""
    assert len(talk(MeetingRun(ADA, BOB), 400, "No {n}.").state.record.recent) == 240


def test_a_draft_cites_only_what_its_writer_was_shown() -> None:
    """P-8, P-15, M-2: what it was not shown is left out and noted, and the draft counts."""
    table = quiet(talk(MeetingRun(ADA, BOB), 150))
    brief = table.brief("ada")
    shown = brief.perception.memory.shown
    hidden = next(number for number in range(1, 152) if number not in shown)
    read = read_answer(
        brief,
        {
            "decision": {"text": "Keep them.", "entries": [150, hidden]},
            "reasons": ["It costs less."],
        },
    )
    assert read.said == Draft(
        decision=DraftClaim(text="Keep them.", entries=(150,)),
        reasons=(DraftClaim(text="It costs less."),),
    )
    assert f"left_out decision.entries {hidden}" in read.mends


def test_a_claim_without_entries_is_taken_and_marked() -> None:
    """P-15, M-2"""
    table = quiet(MeetingRun(ADA, BOB).turn("ada", "Yes."))
    read = read_answer(table.brief("ada"), '```json\n{"decision": "Go.", "entries": "#2",}\n```')
    assert isinstance(read.said, Draft)
    assert read.said.decision.text == "Go."
    table.drafts("ada", Draft(decision=DraftClaim(text="Go."))).stands(bob=build_stand("support"))
    assert "Decided by 2 of 2" not in PERSONA.export(table.timeline, "minutes")
    assert "agree: Go." in PERSONA.export(table.timeline, "minutes")


@pytest.mark.parametrize(
    "raw", ["", "{}", '{"confidence": 0.9}', '{"decision": ""}', {"decision": {"entries": [1]}}]
)
def test_a_draft_without_a_decision_is_asked_for_again(raw: object) -> None:
    """M-2"""
    with pytest.raises(BadAnswer):
        read_answer(quiet(MeetingRun(ADA, BOB).turn("ada", "Yes.")).brief("ada"), raw)


def test_contested_points_are_told_in_words() -> None:
    """P-8, P-13: the claim and who contests it, not numbers alone."""
    table = MeetingRun(ADA, BOB, CY).turn("ada", "Cut 10 %, since cash is short.")
    table.bids(
        ada=bid_silence(0.1),
        bob=bid_silence(0.1, view="contest"),
        cy=bid_silence(0.2, view="agree"),
    )
    assert "[#2 ada, contested by bob]\n| Cut 10 %, since cash is short." in table.brief("ada").own


# P-15: weight


def test_the_writer_is_told_where_the_weight_stands() -> None:
    """P-15: weight × confidence × trust, with what each seat holds as far as it is known."""
    seats = (build_seat("ada", weight=3, trust=1.0), BOB, CY)
    table = (
        MeetingRun(*seats, settings=BLIND)
        .position("ada", "Never.", 0.8)
        .position("bob", "Yes.", 0.6)
        .lose("position", "cy")
    )
    brief = quiet(table.turn("bob", "At most 10 %.")).brief("ada")
    stands = "| ada (77 %)\n| bob (10 %)\n| cy (13 %)"
    assert f"\nWeight:\n{stands}\nada:\n| Never.\ncy (no position known)" in brief.own
    assert "| At most 10 %." in brief.shared, "who spoke stands above"


def overruled(language: Language = "en") -> MeetingRun:
    seats = (build_seat("ada", stance="decider"), BOB, CY)
    table = MeetingRun(opened=replace(build_opening(*seats, language=language)))
    quiet(table.turn("bob", "No.")).drafts("ada", build_draft("Cut.", 2, confidence=0.9))
    return table.stands(
        bob=build_stand("oppose", 0.9, "Never."),
        cy=build_stand("conditional", 0.9, condition="If small."),
    )


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "ada decided against most of the others (1 of 1): Cut"),
        ("zh", "ada不顾多数（1 人中 1 人）反对，决定：Cut"),
    ],
)
def test_a_decision_that_most_of_the_weight_opposes_is_overruled(
    language: Language, told: str
) -> None:
    """P-15: on the record, in the result, the minutes, the page and the JSON of the context ledger."""
    table = overruled(language)
    table_last = table.last
    assert isinstance(table_last, MeetingConcluded)
    # ada for, bob against, cy half each: an even split is not overruled.
    assert not table_last.overruled
    heavy = MeetingRun(
        build_seat("ada", stance="decider"), build_seat("bob", weight=2), language=language
    )
    quiet(heavy.turn("bob", "No.")).drafts("ada", build_draft("Cut.", 2)).stands(
        bob=build_stand("oppose", 1.0, "Never.")
    )
    assert isinstance(heavy.last, MeetingConcluded)
    assert heavy.last.overruled
    assert build_decision(heavy.timeline).overruled
    for form in ("minutes", "html"):
        assert told in PERSONA.export(heavy.timeline, form)
        assert told not in PERSONA.export(table.timeline, form)
    assert json.loads(render_context_ledger(heavy.timeline))["conclusion"]["overruled"] is True


def test_a_confidence_that_was_not_stated_is_not_invented_and_weighs_as_an_ordinary_one() -> None:
    """P-15, M-2"""
    table = (
        MeetingRun(ADA, BOB, settings=BLIND)
        .position("ada", "For.", 0.9)
        .position("bob", "Against.")
    )
    table = quiet(table.turn("ada", "Yes.")).drafts(
        "ada", Draft(decision=DraftClaim(text="Go.", entries=(2,)))
    )
    table.stands(bob=Stand(verdict="support"))
    assert isinstance(table.last, MeetingConcluded)
    assert [position.weight for position in table.last.positions] == [0.4, 0.4]
    decision = build_decision(table.timeline)
    assert decision.confidence is None
    assert [position.confidence_after for position in decision.positions] == [None, None]
    assert "not stated" in PERSONA.export(table.timeline, "minutes")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"position": "For."}, Position(position="For.")),
        ({"position": "For.", "confidence": ""}, Position(position="For.")),
        ({"position": "For.", "confidence": "80%"}, Position(position="For.", confidence=0.8)),
        ({"position": "x " * 15_000}, Position(position=("x " * 9_999).rstrip() + "…")),
    ],
)
def test_a_position_with_its_substance_counts(raw: object, said: Position) -> None:
    """M-2"""
    assert read_answer(MeetingRun(ADA, BOB, settings=BLIND).brief("ada"), raw).said == said


def test_a_last_word_that_was_moved_by_nothing_counts() -> None:
    """M-2"""
    brief = quiet(MeetingRun(ADA, BOB).turn("ada", "Yes.")).drafts("ada").brief("bob")
    read = read_answer(brief, {"verdict": "Support", "moved_by": 99, "position": "word " * 1_000})
    assert isinstance(read.said, Stand)
    assert (
        read.said.verdict,
        read.said.moved_by,
        read.said.confidence,
        len(read.said.position),
    ) == (
        "support",
        None,
        None,
        1_995,
    )
    assert brief.normalize(Stand(verdict="support", moved_by=99)) == (
        Stand(verdict="support"),
        ("left_out moved_by 99",),
    )


def test_a_speech_that_answers_nothing_counts_and_is_noted() -> None:
    """M-2, P-4"""
    brief = MeetingRun(ADA, BOB).bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4)).brief("ada")
    read = read_answer(brief, "re #7 agree: Yes.")
    assert (read.said, read.mends) == (PersonaSpeech(content="Yes."), ("left_out refers_to 7",))


def test_a_bid_in_the_sources_shape_is_taken_as_it_is() -> None:
    """P-9, M-3: the id is the seat's own, which nobody has to repeat."""
    brief = MeetingRun(ADA, BOB).brief("ada")
    raw = {"node_id": "ada", "reaction_score": 0.2, "intent_to_speak": False, "reason": "Agreed."}
    read = read_answer(brief, raw)
    assert (read.said, read.mends) == (bid_silence(0.2, "Agreed."), ())


# Nobody spoke


@pytest.mark.parametrize(("language", "told"), [("en", "Nobody spoke"), ("zh", "无人发言")])
def test_when_nobody_spoke_the_result_says_so(language: Language, told: str) -> None:
    """P-14"""
    table = (
        quiet(MeetingRun(ADA, BOB, language=language))
        .drafts("ada")
        .stands(bob=build_stand("support"))
    )
    assert build_decision(table.timeline).ended_by == "nobody_spoke"
    for form in ("minutes", "html"):
        assert told in PERSONA.export(table.timeline, form)
    spoken = (
        quiet(MeetingRun(ADA, BOB, language=language).turn("ada", "Yes."))
        .drafts("ada")
        .stands(bob=build_stand("support"))
    )
    assert told not in PERSONA.export(spoken.timeline, "minutes")


# P-6: read back


def test_a_conclusion_that_was_read_back_keeps_its_dissent_and_its_end() -> None:
    """P-6"""
    table = overruled().timeline
    read = ContextLedger(render_context_ledger(table))
    assert read.conclusion is not None
    again = MeetingRun(opened=read.opened).put(SessionImported(conclusion=read.conclusion))
    before, after = build_decision(table), build_decision(again.timeline)
    kept = (
        "ended_by",
        "decision",
        "author",
        "confidence",
        "support",
        "turnout",
        "reasons",
        "dissent",
        "open_questions",
        "answers",
    )
    assert {name: getattr(after, name) for name in kept} == {
        name: getattr(before, name) for name in kept
    }
    assert after.dissent[0] == Dissent(seat=after.dissent[0].seat, kind="oppose", text="Never.")
    minutes = PERSONA.export(again.timeline, "minutes")
    assert "Never." in minutes
    assert "every reaction was below the threshold" in minutes
    assert "Held elsewhere, read from a file" in minutes
    assert json.loads(render_context_ledger(again.timeline))["conclusion"] == json.loads(
        read.conclusion
    )


@pytest.mark.parametrize(
    "conclusion",
    [
        None,
        7,
        [],
        "Go.",
        {"dissent": "x", "ended_by": 3, "support": "high", "answers": [1]},
        {
            "decision": {"text": "Go.", "entries": ["#1", True, 2]},
            "dissent": [7, "ada doubts it", {"kind": "x", "text": "y"}],
        },
    ],
)
def test_any_conclusion_in_a_file_can_be_told(conclusion: object) -> None:
    """P-6: files come from outside; what cannot be shown is left out."""
    document = json.loads(render_context_ledger(overruled().timeline))
    read = ContextLedger(json.dumps({**document, "conclusion": conclusion}))
    assert read.conclusion is not None
    table = MeetingRun(opened=read.opened).put(SessionImported(conclusion=read.conclusion))
    assert PERSONA.export(table.timeline, "minutes").startswith("# ")
    assert PERSONA.export(table.timeline, "html").startswith("<!doctype html>")
    assert json.loads(render_context_ledger(table.timeline))["conclusion"] == conclusion


def test_a_mark_of_a_speech_under_way_survives_the_way_there_and_back() -> None:
    """P-6, P-7"""
    table = (
        MeetingRun(ADA, BOB)
        .bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4))
        .give_input("And R&D?")
        .speaks("ada", "Yes.")
    )
    again = MeetingRun(opened=ContextLedger(render_context_ledger(table.timeline)).opened)
    assert [line.unaware_of for line in again.timeline.lines] == [None, None, 2]
