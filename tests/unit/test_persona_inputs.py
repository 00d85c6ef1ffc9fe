"""The user's inputs in a persona meeting: what bids are about, speeches under way, and what the conclusion answers (P-7)."""

import pytest
from tests.support.persona_scenes import ADA, BOB, CY, quiet
from tests.support.play_persona import (
    MeetingRun,
    bid_silence,
    bid_to_speak,
    build_draft,
    build_stand,
)

from moothall.domain.budget import Budget
from moothall.domain.facts import CloseCalled, SessionResumed
from moothall.features.persona.facts import Draft, DraftClaim, InputReply, MeetingConcluded
from moothall.features.persona.plugin import PERSONA
from moothall.features.persona.report import add_and_describe_entry
from moothall.features.persona.timeline import PersonaTimeline, build_decision
from moothall.reading.answers import read_answer
from moothall.reports.decision import AnsweredInput


def speaking(table: MeetingRun) -> MeetingRun:
    """Ada has the floor."""
    return table.bids(ada=bid_to_speak(0.9, "cash"), bob=bid_silence(0.4))


def test_the_next_bids_are_about_an_input_that_came_during_a_speech() -> None:
    """P-7: the speech that was under way becomes the newest entry, and the bids are about the input all the same."""
    table = speaking(MeetingRun(ADA, BOB)).give_input("And the union?").speaks("ada", "Yes.")
    assert [line.speaker for line in table.timeline.lines] == ["USER", "USER", "ada"]
    for name in ("ada", "bob"):
        brief = table.brief(name)
        assert "does what the user added (#2) move you?" in brief.own
        assert brief.subject == "And the union?"
        assert brief.schema is not None
    assert "about #2" in table.brief("bob").probe


def test_views_are_on_the_speech_that_was_under_way() -> None:
    """P-7, P-13: the bids are about the input, and the speech is agreed with or contested like any other."""
    table = speaking(MeetingRun(ADA, BOB)).give_input("And the union?").speaks("ada", "Yes.")
    assert "view: your view of #3: " in table.brief("bob").own
    table.bids(bob=bid_silence(0.2, view="contest"))
    assert [(point.entry, point.contested) for point in table.state.points] == [(3, ("bob",))]


def test_the_bids_after_that_are_about_the_newest_entry_again() -> None:
    """P-7"""
    table = (
        speaking(MeetingRun(ADA, BOB))
        .give_input("And the union?")
        .speaks("ada", "Yes.")
        .turn("bob", "It agrees.")
    )
    assert (table.state.about, table.brief("ada").subject) == (4, "It agrees.")
    assert "does what was just said move you?" in table.brief("ada").own


def test_whoever_gets_the_floor_after_an_input_is_asked_to_speak_to_it() -> None:
    """P-7: the bids were made before it came."""
    table = (
        MeetingRun(ADA, BOB)
        .bids(ada=bid_to_speak(0.9))
        .give_input("And the union?")
        .bids(bob=bid_silence(0.4))
    )
    assert table.asked == ["1.speech.ada"]
    assert "The user added #2: speak to it." in table.brief("ada").own
    table.speaks("ada", "It agrees.")
    assert table.timeline.lines[-1].unaware_of is None
    assert table.state.about == 2


def test_a_talk_can_end_once_everyone_was_asked_about_the_input() -> None:
    """P-7, P-14: an input that stands behind a speech does not keep the talk open for ever."""
    table = quiet(speaking(MeetingRun(ADA, BOB)).give_input("And the union?").speaks("ada", "Yes."))
    assert table.asked == ["2.draft.ada"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_speech_under_way_is_marked_on_every_surface(language: str) -> None:
    """P-7"""
    table = (
        speaking(MeetingRun(ADA, BOB, language=language))
        .give_input("And the union?")
        .speaks("ada", "Yes.")
    )
    timeline = table.timeline
    assert [line.unaware_of for line in timeline.lines] == [None, None, 2]
    told = {"en": "was under way when #2 came", "zh": "在 #2 到来时已在发言"}[language]
    assert told in PERSONA.export(timeline, "minutes")
    assert '"unaware_of": 2' in PERSONA.export(timeline, "context")
    assert 'href="#entry-2"' in PERSONA.export(timeline, "html")
    shown = PersonaTimeline(timeline.session)
    assert any(
        told in line for entry in table.entries for line in add_and_describe_entry(shown, entry)
    )


def test_a_speaker_that_is_asked_again_after_a_restart_knows_the_input() -> None:
    """P-7: it is sent a new brief, so its speech was not under way."""
    table = (
        speaking(MeetingRun(ADA, BOB))
        .give_input("And the union?")
        .put(SessionResumed())
        .speaks("ada", "Yes.")
    )
    assert table.timeline.lines[-1].unaware_of is None


def test_the_next_speaker_after_a_lost_speech_knows_the_input() -> None:
    """P-7, P-12"""
    table = (
        MeetingRun(ADA, BOB)
        .bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8))
        .give_input("And the union?")
    )
    table.lose("speech", "ada")
    assert "speak to it" in table.brief("bob").own
    assert table.speaks("bob", "Yes.").timeline.lines[-1].unaware_of is None


# The conclusion


def concluding() -> MeetingRun:
    """Two inputs came in; ada writes."""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Cut 10 %.")
        .give_input("And R&D?")
        .turn("bob", "It stays.")
        .give_input("When?")
    )
    # The second input came while bids were asked for, so everyone is asked once more.
    return quiet(quiet(table))


def test_the_writer_is_told_which_inputs_to_answer() -> None:
    """P-7"""
    brief = concluding().brief("ada")
    assert brief.own.startswith("# From the user\n")
    assert "[#3]\n> And R&D?\n[#5]\n> When?\n\n# You\n" in brief.own
    assert "answers: to each of the user's #3 #5." in brief.own
    assert brief.schema is not None
    assert brief.schema["properties"]["answers"]["items"]["properties"]["input"]["enum"] == [3, 5]


def test_without_inputs_nothing_is_asked_about_them() -> None:
    """P-7, M-4"""
    brief = quiet(MeetingRun(ADA, BOB).turn("ada", "Cut 10 %.")).brief("ada")
    assert "input" not in brief.own
    assert brief.schema is not None
    assert "answers" not in brief.schema["properties"]


def test_the_result_has_an_answer_for_each_input_and_says_which_was_left_out() -> None:
    """P-7"""
    said = Draft(
        decision=DraftClaim(text="Cut.", entries=(2,)),
        answers=(
            InputReply(input=3, text="R&D stays.", entries=(4,)),
            InputReply(input=3, text="Twice."),
        ),
    )
    table = concluding().drafts("ada", said).stands(bob=build_stand("support"))
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.unanswered == (5,)
    assert build_decision(table.timeline).answers == (
        AnsweredInput(input=3, asked="And R&D?", answer="R&D stays.", entries=(4,)),
        AnsweredInput(input=5, asked="When?", answer=None),
    )
    decision = build_decision(table.timeline)
    assert (decision.strength, decision.reservations[0]) == ("weak", "you_unanswered")
    minutes = PERSONA.export(table.timeline, "minutes")
    assert "#3 And R&D? → R&D stays. (#4)" in minutes.replace("\\", "")
    assert "#5 When? → the decision says nothing to it" in minutes


def test_an_input_that_came_too_late_for_the_draft_is_on_record_as_unanswered() -> None:
    """P-7: its owner had called for the end, so the talk was not taken up again."""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Yes.")
        .put(CloseCalled())
        .drafts("ada")
        .give_input("Wait!")
    )
    table.stands(bob=build_stand("support"))
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.unanswered == (3,)


def test_an_answer_to_what_is_no_input_is_left_out_and_noted() -> None:
    """P-7, M-2"""
    raw = {
        "decision": {"text": "Cut.", "entries": [2]},
        "answers": [{"input": 4, "text": "?"}, {"input": "#5", "text": "May."}],
    }
    read = read_answer(concluding().brief("ada"), raw)
    assert isinstance(read.said, Draft)
    assert read.said.answers == (InputReply(input=5, text="May."),)
    assert any(note.startswith("left_out answers.0") for note in read.mends)


def test_only_the_newest_inputs_are_to_be_answered() -> None:
    """P-7, P-8: what the writer receives stays bounded."""
    table = MeetingRun(ADA, BOB, CY, budget=Budget(turns=40))
    for number in range(60):
        table.give_input(f"Input {number}. " + "x" * 9_000)
    assert len(table.state.user_inputs) == 20
    assert all(len(each.text) < 6_010 for each in table.state.user_inputs)
    assert len(table.brief("ada").own) < 16_000
    assert quiet(quiet(table)).drafts("ada", build_draft()).state.draft is not None
