"""The rulebook of persona: facts in, effects out. Each test names the requirement that it proves."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from tests.support.play_persona import MeetingRun, bid_silence, bid_to_speak, build_draft, build_opening, build_seat, build_stand

from moot.codec.answers import parse_answer
from moot.codec.stored import FactCodec
from moot.domain.budget import Budget, BudgetKind, Usage
from moot.domain.context import LONGEST_UTTERANCE, MOST_DIGESTS
from moot.domain.effects import Ask
from moot.domain.facts import BudgetExhausted, InputGiven, SeatLost, SessionCancelled, SessionForked, SessionResumed
from moot.domain.ids import USER, AskId, SeatId, SessionId, ask_id, daily_id, daily_prefix, parse_seat_id, parse_session_id
from moot.domain.roster import MOST_SEATS, Swap, swap_seats, validate_seats, validate_swaps
from moot.errors import BadAnswer, BadName, BadRoster, BadSetting
from moot.ports.plugin import Plan
from moot.protocols.persona.consensus import DiscussionPoint
from moot.protocols.persona.facts import (
    Draft,
    DraftClaim,
    EndReason,
    FloorGiven,
    Intent,
    IntentDeclared,
    MeetingConcluded,
    PersonaLostSeat,
    PersonaSettings,
    PersonaSpeech,
    TalkEnded,
    TurnPassed,
    TurnTaken,
    WeighedStand,
)
from moot.protocols.persona.plugin import open_session as opened_by_plan
from moot.protocols.persona.rules import MOST_TURNS, RULES
from moot.protocols.persona.state import DECIDERS
from moot.protocols.persona.timeline import SeatBid, build_decision

ADA, BOB, CY = build_seat("ada"), build_seat("bob"), build_seat("cy")
BLIND = PersonaSettings(blind=True)
REALISTIC = "The runway is {n} months; a cut of a tenth keeps the core team whole and buys two quarters. " * 4


def quiet(table: MeetingRun) -> MeetingRun:
    return table.bids(**{each.id: bid_silence(0.1) for each in table.state.seats})


# P-1


def test_seats_with_ids_of_their_own_sit_together() -> None:
    """P-1"""
    assert validate_seats([ADA, BOB]) == (ADA, BOB)
    assert ADA.weight == 1.0


@pytest.mark.parametrize(
    ("seats", "why"),
    [
        ([build_seat("ada"), build_seat("ada")], "two seats are called 'ada' and 'ada'"),
        ([build_seat("Ada"), build_seat("aDA")], "two seats are called 'Ada' and 'aDA'"),
        ([build_seat("ada", weight=0)], "seat 'ada' has the weight 0; a bias weight must be greater than 0"),
        ([build_seat("ada", weight=-1)], "seat 'ada' has the weight -1"),
        ([build_seat("ada", weight=math.nan)], "seat 'ada' has the weight nan"),
        ([build_seat("ada", weight=math.inf)], "seat 'ada' has the weight inf"),
        ([build_seat("ada", trust=1.1)], "seat 'ada' has the trust 1.1"),
        ([build_seat("ada", trust=math.nan)], "seat 'ada' has the trust nan"),
        ([replace(ADA, patience=0.0)], "seat 'ada' has the patience 0.0"),
        ([replace(ADA, patience=math.inf)], "seat 'ada' has the patience inf"),
        ([], "0 seats"),
        ([build_seat(f"s{number}") for number in range(MOST_SEATS + 1)], f"{MOST_SEATS + 1} seats"),
    ],
)
def test_seats_that_cannot_sit_together_are_refused(seats: list[object], why: str) -> None:
    """P-1"""
    with pytest.raises(BadRoster) as refused:
        validate_seats(seats)  # type: ignore[arg-type]
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize("name", ["Node_A", "node-b", "甲方", "Zoë", "é" * 64, "नीति"])
def test_a_seat_may_be_called_in_any_script(name: str) -> None:
    """P-1"""
    assert parse_seat_id(f" {name} ") == parse_seat_id(name)


def test_a_seats_name_has_one_form() -> None:
    """P-1"""
    assert parse_seat_id("Zoe\u0308") == parse_seat_id("Zo\u00eb") == "Zo\u00eb"


@pytest.mark.parametrize(
    "name", ["", "  ", "a b", "a.b", "a\nb", "USER", "user", "#1", "[x]", "x" * 65, "a\u202eb", "a\u200bb", "|", "\u0301!"]
)
def test_a_name_that_could_pass_as_something_else_is_refused(name: str) -> None:
    """P-1"""
    with pytest.raises(BadName):
        parse_seat_id(name)


@pytest.mark.parametrize("name", ["", "-x", "_x", "a/b", "..", "ünder", "x" * 81, "a\n"])
def test_a_session_name_that_is_no_plain_word_is_refused(name: str) -> None:
    """P-3"""
    with pytest.raises(BadName):
        parse_session_id(name)


def test_a_session_is_called_after_its_day() -> None:
    """P-3"""
    now = datetime(2024, 5, 20, 23, 59, tzinfo=UTC)
    assert daily_prefix(now) == "think_20240520_"
    assert daily_id(now, 1) == "think_20240520_001"
    assert parse_session_id(daily_id(now, 1000)) == "think_20240520_1000"


def test_a_swap_gives_a_seat_to_another_participant() -> None:
    """P-2"""
    swap = Swap(seat=SeatId("ada"), platform="openai:x")
    assert validate_swaps((ADA, BOB), [swap]) == (swap,)
    assert swap_seats((ADA, BOB), [swap]) == (replace(ADA, platform="openai:x"), BOB)
    with pytest.raises(BadRoster, match="no seat is called 'eve'; the seats are: ada, bob"):
        validate_swaps((ADA, BOB), [Swap(seat=SeatId("eve"), platform="x")])


def test_a_summarizer_who_does_not_sit_at_the_table_is_refused() -> None:
    """P-15"""
    plan = Plan(
        topic="?",
        language="en",
        seed=1,
        seats=(ADA, BOB),
        budget=Budget(),
        outside_patience=1.0,
        settings=PersonaSettings(summarizer=SeatId("eve")),
    )
    with pytest.raises(BadSetting, match="summarizer = 'eve' is no seat; the seats are: ada, bob"):
        opened_by_plan(plan)
    with pytest.raises(BadRoster):
        opened_by_plan(replace(plan, seats=(ADA, ADA)))


# P-4, P-5


def test_the_timeline_counts_from_one_without_gaps() -> None:
    """P-4"""
    table = MeetingRun(ADA, BOB, CY)
    for number in range(10):
        table.turn(("ada", "bob", "cy")[number % 3], f"speech {number}")
        if number % 4 == 0:
            table.give_input(f"input {number}")
    lines = table.timeline.lines
    assert [line.id for line in lines] == list(range(1, len(lines) + 1)) == list(range(1, 15))
    assert all(earlier.timestamp < later.timestamp for earlier, later in pairwise(lines))
    assert {line.type for line in lines if line.speaker == USER} == {"input"}


def test_a_speech_becomes_one_whole_timeline_entry() -> None:
    """P-4"""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
    table.bids(ada=bid_silence(0.4), bob=bid_to_speak(0.95)).speaks("bob", "No.", refers_to=2)
    first, second, third = table.timeline.lines
    assert (first.id, first.speaker, first.type, first.platform, first.relevance_score) == (1, "USER", "input", "", None)
    assert (second.speaker, second.platform, second.content, second.relevance_score) == ("ada", "script:ada", "Yes.", 0.9)
    assert (third.speaker, third.refers_to, third.relevance_score, third.type) == ("bob", 2, 0.95, "speech")
    assert third.timestamp == "2024-05-20T10:00:08Z"


@pytest.mark.parametrize(("named", "kept"), [(1, 1), (2, 2), (3, None), (4, None), (999, None), (None, None)])
def test_a_reference_to_an_entry_that_does_not_exist_is_dropped(named: int | None, kept: int | None) -> None:
    """P-4: an entry refers to an earlier one, never to itself or to the future."""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
    table.bids(ada=bid_silence(0.4), bob=bid_to_speak(0.95)).speaks("bob", "No.", refers_to=named)
    assert table.timeline.lines[-1].refers_to == kept
    assert table.state.memory.recent[-1].refers_to == kept


@pytest.mark.parametrize(
    ("text", "speech"),
    [
        ("Plain.", PersonaSpeech(content="Plain.")),
        ("re #2 agree: Yes.", PersonaSpeech(content="Yes.", refers_to=2, view="agree")),
        ("RE #12 disagree: No.", PersonaSpeech(content="No.", refers_to=12, view="contest")),
        ("[re #3]: Hm.", PersonaSpeech(content="Hm.", refers_to=3)),
        ("回应 #2 反对：不行。", PersonaSpeech(content="不行。", refers_to=2, view="contest")),
        ("（回应 #2，赞同）好。", PersonaSpeech(content="好。", refers_to=2, view="agree")),
        ("re #0: what", PersonaSpeech(content="what")),
        ("re #2", PersonaSpeech(content="re #2", refers_to=2)),
        ("Rewriting 3 parts is too much.", PersonaSpeech(content="Rewriting 3 parts is too much.")),
        ("See re #2 agree: below", PersonaSpeech(content="See re #2 agree: below")),
    ],
)
def test_the_first_words_may_name_the_entry_that_is_answered(text: str, speech: PersonaSpeech) -> None:
    """P-4"""
    assert PersonaSpeech.from_text(text) == speech


@pytest.mark.parametrize("text", ["Re 20% layoffs: no.", "re 5 years ago we tried this", "Re: 3 points. First, cash."])
def test_a_number_without_a_mark_is_no_reference(text: str) -> None:
    """P-4"""
    assert PersonaSpeech.from_text(text) == PersonaSpeech(content=text)


def test_silence_leaves_no_entry_and_its_reason_is_kept() -> None:
    """P-5"""
    table = (
        MeetingRun(ADA, BOB, CY)
        .bids(ada=bid_to_speak(0.9, "moved"), bob=bid_silence(0.2, "Nothing to add."), cy=None)
        .speaks("ada", "Yes.")
    )
    timeline = table.timeline
    assert [line.speaker for line in timeline.lines] == ["USER", "ada"]
    assert timeline.turns[0].bids == [
        SeatBid(seat=SeatId("ada"), intent=bid_to_speak(0.9, "moved")),
        SeatBid(seat=SeatId("bob"), intent=bid_silence(0.2, "Nothing to add.")),
        SeatBid(seat=SeatId("cy"), intent=None, lost="timeout"),
    ]


def test_a_turn_in_which_nobody_speaks_is_kept_too() -> None:
    """P-5"""
    table = MeetingRun(ADA, BOB).bids(ada=bid_silence(0.5, "wait"), bob=bid_silence(0.6, "hear"))
    assert table.last == TurnPassed(turn=1)
    assert [bid.intent for bid in table.timeline.turns[0].bids] == [bid_silence(0.5, "wait"), bid_silence(0.6, "hear")]
    assert len(table.timeline.lines) == 1


# P-7


def _at(phase: str) -> MeetingRun:
    table = MeetingRun(ADA, BOB, settings=BLIND if phase == "blind" else None)
    match phase:
        case "blind":
            return table.position("ada", "For.")
        case "intents":
            return table.bids(ada=bid_to_speak(0.9))
        case "speech":
            return table.bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4))
        case "draft":
            return quiet(table)
        case _:
            return quiet(table).drafts("ada")


@pytest.mark.parametrize("phase", ["blind", "intents", "speech", "draft", "stands"])
def test_an_input_at_any_point_becomes_the_newest_entry(phase: str) -> None:
    """P-7"""
    table = _at(phase)
    assert table.state.phase == phase
    table.give_input("And the union?")
    line = table.timeline.lines[-1]
    assert (line.id, line.speaker, line.content, line.type) == (2, "USER", "And the union?", "input")
    latest = table.state.memory.latest
    assert latest is not None
    assert (latest.id, latest.text) == (2, "And the union?")


@pytest.mark.parametrize("phase", ["intents", "speech", "draft", "stands"])
def test_an_input_is_in_the_next_perception(phase: str) -> None:
    """P-7: whoever is asked next hears it."""
    table = _at(phase).give_input("And the union?")
    for ask in table.asks:
        assert "[#2 USER]\n| And the union?" in RULES.brief(table.state, ask).shared


@pytest.mark.parametrize("phase", ["blind", "speech"])
def test_an_input_during_the_talk_withdraws_no_ask(phase: str) -> None:
    """P-7"""
    table = _at(phase)
    before = table.asks
    assert table.give_input("And the union?").asks == before


@pytest.mark.parametrize("phase", ["draft", "stands"])
def test_an_input_while_the_conclusion_is_written_takes_the_meeting_back_to_talking(phase: str) -> None:
    """P-7"""
    table = _at(phase).give_input("And the union?")
    assert table.asked == ["2.intent.ada", "2.intent.bob"]
    assert (table.state.draft, table.state.author, table.state.stop, table.state.drafters_lost) == (None, None, None, ())
    assert "(#2)" in table.brief("ada").own
    quiet(table)
    assert table.asked == ["2.draft.ada"]
    assert table.last == TalkEnded(turn=2, reason="quiet")


def test_a_drafter_that_was_lost_may_write_again_after_an_input() -> None:
    """P-7"""
    table = _at("draft").lose("draft", "ada")
    assert table.asked == ["1.draft.bob"]
    assert quiet(table.give_input("Again.")).asked == ["2.draft.ada"]


@pytest.mark.parametrize("budget", ["turns", "tokens", "money", "time"])
@pytest.mark.parametrize("phase", ["draft", "stands"])
def test_an_input_does_not_reopen_a_meeting_that_its_budget_has_ended(phase: str, budget: BudgetKind) -> None:
    """P-7: the input is heard, the conclusion is written all the same."""
    table = MeetingRun(ADA, BOB).put(BudgetExhausted(budget=budget, spent="all"))
    if phase == "stands":
        table.drafts("ada")
    before = table.asked
    table.give_input("And the union?")
    assert table.asked == before
    assert table.state.stop == budget
    assert table.timeline.lines[-1].content == "And the union?"


def test_an_input_during_the_blind_round_is_what_the_first_bids_are_about() -> None:
    """P-7"""
    table = _at("blind").give_input("And the union?").position("bob", "Against.")
    assert table.state.about == 2
    assert "(#2)" in table.brief("ada").own


def test_an_input_during_the_bids_is_perceived_before_the_talk_can_end() -> None:
    """P-7: the very same input a moment later, at the draft, does take the meeting back to talking."""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Yes.")
        .bids(ada=bid_silence(0.1))
        .give_input("And the union?")
        .bids(bob=bid_silence(0.1))
    )
    assert table.asked == ["3.intent.ada", "3.intent.bob"]


def test_an_input_does_not_reopen_a_meeting_whose_budget_ran_out_during_the_conclusion() -> None:
    """P-7, P-14: the engine announces a budget once; talking on would be without any limit."""
    table = quiet(MeetingRun(ADA, BOB)).put(BudgetExhausted(budget="money", spent="all")).drafts("ada").give_input("Wait.")
    assert table.asked == ["1.stand.bob"]


# P-8


def test_a_perception_holds_goal_digest_and_the_last_turns() -> None:
    """P-8"""
    table = MeetingRun(ADA, BOB)
    assert table.state.memory.window == 6
    for number in range(10):
        table.turn(("ada", "bob")[number % 2], f"Speech {number}. More of it.")
    brief = table.brief("ada")
    assert [heard.id for heard in brief.perception.memory.recent] == [6, 7, 8, 9, 10, 11]
    assert [gist.id for gist in brief.perception.memory.older] == [1, 2, 3, 4, 5]
    assert "| Speech 9. More of it." in brief.shared
    assert "[#2 ada]\n| Speech 0.\n" in brief.shared
    assert "Speech 0. More of it." not in brief.shared


@pytest.mark.parametrize("window", [1, 3, 50])
def test_the_window_is_configurable(window: int) -> None:
    """P-8"""
    table = MeetingRun(ADA, BOB, settings=PersonaSettings(blind=False, window=window))
    for number in range(55):
        table.turn(("ada", "bob")[number % 2], f"{number}")
    assert len(table.brief("bob").perception.memory.recent) == window


def test_the_digest_keeps_the_question_and_what_moved_most() -> None:
    """P-8"""
    table = MeetingRun(ADA, BOB)
    for number in range(60):
        table.turn(("ada", "bob")[number % 2], f"Speech {number}.", score=1.0 if number in {5, 9} else 0.4)
    memory = table.state.memory
    assert len(memory.older) == MOST_DIGESTS
    assert {1, 7, 11} <= {gist.id for gist in memory.older}
    assert memory.left_out == 61 - 6 - MOST_DIGESTS
    assert f"({memory.left_out} older entries left out)" in table.brief("ada").shared


def test_what_a_seat_receives_stays_bounded_as_the_meeting_grows() -> None:
    """P-8: turn 500 costs hardly more than turn 20."""
    table = MeetingRun(ADA, BOB, CY)
    sizes: dict[int, int] = {}
    for number in range(1, 501):
        if number in {20, 500}:
            brief = table.brief("ada")
            sizes[number] = len(brief.shared) + len(brief.own)
        table.turn(("ada", "bob", "cy")[number % 3], REALISTIC.format(n=number), score=(number % 7) / 10 + 0.3)
    assert sizes[500] <= 1.3 * sizes[20]


def test_an_endless_speech_is_shown_cut_and_kept_whole() -> None:
    """P-8"""
    table = MeetingRun(ADA, BOB).turn("ada", "x" * 20_000)
    assert len(table.brief("bob").shared) < LONGEST_UTTERANCE + 300
    assert table.timeline.lines[-1].content == "x" * 20_000


# P-9


def test_all_are_asked_at_the_same_time_and_with_little_patience() -> None:
    """P-9"""
    assert MeetingRun(ADA, BOB, CY).asks == tuple(
        Ask(id=AskId(f"1.intent.{name}"), seat=SeatId(name), kind="intent", turn=1, patience=60.0)
        for name in ("ada", "bob", "cy")
    )


def test_who_has_answered_is_not_asked_again() -> None:
    """P-9"""
    assert MeetingRun(ADA, BOB, CY).bids(bob=bid_silence(0.1)).asked == ["1.intent.ada", "1.intent.cy"]


def test_a_lost_bid_is_silence_and_is_recorded() -> None:
    """P-9"""
    table = MeetingRun(ADA, BOB).bids(ada=bid_to_speak(0.9), bob=None)
    assert table.last == FloorGiven(turn=1, seat=SeatId("ada"), score=0.9, reason="only_one", lost=(SeatId("bob"),))
    assert table.timeline.turns[0].bids[1] == SeatBid(seat=SeatId("bob"), intent=None, lost="timeout")
    assert [(loss.seat, loss.asked_for, loss.reason) for loss in table.timeline.losses] == [("bob", "intent", "timeout")]


def test_a_bid_for_another_turn_is_ignored() -> None:
    """P-9: a late answer."""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
    before = table.state
    late = IntentDeclared(ask=ask_id(1, "intent", SeatId("bob")), seat=SeatId("bob"), said=bid_to_speak(1.0))
    assert table.put(late).state == before


# P-10


def _floor(last: str | None = None, **intents: Intent | None) -> FloorGiven:
    table = MeetingRun(ADA, BOB, CY)
    if last is not None:
        table.turn(last, "Spoken.")
    given = table.bids(**intents).last
    assert isinstance(given, FloorGiven)
    return given


def test_the_floor_goes_to_the_highest_who_intends_to_speak() -> None:
    """P-10: a higher reaction without the intent does not count."""
    floor = _floor(ada=bid_to_speak(0.5), bob=bid_silence(1.0), cy=bid_to_speak(0.7))
    assert floor == FloorGiven(turn=1, seat=SeatId("cy"), score=0.7, reason="highest")


def test_the_only_one_to_bid_gets_the_floor() -> None:
    """P-10"""
    assert _floor(ada=bid_silence(0.9), bob=bid_to_speak(0.0), cy=bid_silence(0.3)).reason == "only_one"


def test_a_tie_goes_to_whoever_was_silent_for_longest() -> None:
    """P-10: who has never spoken has been silent for longest of all."""
    table = MeetingRun(ADA, BOB, CY).turn("ada", "1").turn("bob", "2").turn("cy", "3")
    assert table.bids(ada=bid_to_speak(0.8), bob=bid_to_speak(0.8), cy=bid_silence(0.4)).last == FloorGiven(
        turn=4, seat=SeatId("ada"), score=0.8, reason="longest_silent"
    )
    assert _floor("ada", ada=bid_silence(0.4), bob=bid_to_speak(0.8), cy=bid_to_speak(0.8)).reason == "first_by_id"
    never = (
        MeetingRun(ADA, BOB, CY)
        .turn("ada", "1")
        .turn("bob", "2")
        .bids(ada=bid_to_speak(0.8), bob=bid_silence(0.4), cy=bid_to_speak(0.8))
        .last
    )
    assert never == FloorGiven(turn=3, seat=SeatId("cy"), score=0.8, reason="longest_silent")


def test_a_tie_of_equals_goes_by_role_id_not_by_the_order_of_answers() -> None:
    """P-10"""
    table = MeetingRun(CY, BOB, ADA).bids(cy=bid_to_speak(0.8), bob=bid_to_speak(0.8), ada=bid_to_speak(0.8))
    assert table.last == FloorGiven(turn=1, seat=SeatId("ada"), score=0.8, reason="first_by_id")


def test_the_last_speaker_waits_while_anyone_else_wants_to_speak() -> None:
    """P-10"""
    assert _floor("ada", ada=bid_to_speak(1.0), bob=bid_to_speak(0.3), cy=bid_silence(0.9)).seat == "bob"


def test_the_last_speaker_may_speak_again_if_no_one_else_wants_to() -> None:
    """P-10"""
    floor = _floor("ada", ada=bid_to_speak(0.6), bob=bid_silence(0.9), cy=None)
    assert floor == FloorGiven(turn=2, seat=SeatId("ada"), score=0.6, reason="nobody_else", lost=(SeatId("cy"),))


def test_an_input_between_does_not_make_the_last_speaker_another() -> None:
    """P-10"""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.").give_input("Go on.").bids(ada=bid_to_speak(1.0), bob=bid_to_speak(0.4))
    assert isinstance(table.last, FloorGiven)
    assert table.last.seat == "bob"


def test_the_reason_says_when_the_last_speaker_was_passed_over() -> None:
    """P-10: bob's 0.4 got the floor over ada's 0.9; the recorded reason must not be that it was the highest."""
    assert _floor("ada", ada=bid_to_speak(0.9), bob=bid_to_speak(0.4), cy=bid_silence(0.4)).reason != "highest"


# P-11, P-12


def test_while_one_speaks_nobody_else_is_asked() -> None:
    """P-11"""
    table = MeetingRun(ADA, BOB, CY).bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8), cy=bid_silence(0.4))
    assert table.asks == (Ask(id=AskId("1.speech.ada"), seat=SeatId("ada"), kind="speech", turn=1, patience=180.0),)
    assert table.speaks("ada", "Yes.").asked == ["2.intent.ada", "2.intent.bob", "2.intent.cy"]


def test_a_lost_speech_hands_the_floor_to_the_next_highest() -> None:
    """P-12"""
    table = (
        MeetingRun(ADA, BOB, CY)
        .bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.7), cy=bid_to_speak(0.8))
        .lose("speech", "ada", "error")
    )
    assert table.asked == ["1.speech.cy"]
    table.lose("speech", "cy", "malformed")
    assert table.asked == ["1.speech.bob"]
    table.speaks("bob", "At last.")
    timeline = table.timeline
    assert [(line.id, line.speaker) for line in timeline.lines] == [(1, "USER"), (2, "bob")]
    assert [floor.seat for floor in timeline.turns[0].floors] == ["ada", "cy", "bob"]


def test_a_lost_speech_that_nobody_can_take_over_ends_the_turn() -> None:
    """P-12: nothing half made enters the ledger."""
    table = MeetingRun(ADA, BOB).bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4)).lose("speech", "ada")
    assert table.last == TurnPassed(turn=1)
    assert table.asked == ["2.intent.ada", "2.intent.bob"]
    assert len(table.timeline.lines) == 1


def test_who_lost_the_floor_may_bid_again_in_the_next_turn() -> None:
    """P-12"""
    table = MeetingRun(ADA, BOB).bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8)).lose("speech", "ada").speaks("bob", "No.")
    assert table.bids(ada=bid_to_speak(0.5), bob=bid_silence(0.4)).asked == ["2.speech.ada"]


def test_a_speech_of_another_turn_does_not_enter() -> None:
    """P-12"""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.").bids(ada=bid_silence(0.4), bob=bid_to_speak(0.9))
    late = TurnTaken(ask=ask_id(1, "speech", SeatId("bob")), seat=SeatId("bob"), said=PersonaSpeech(content="late"))
    assert len(table.put(late).timeline.lines) == 2


@pytest.mark.parametrize("length", [1, 20_000])
def test_a_speech_that_is_taken_can_be_read_again(length: int) -> None:
    """P-11"""
    _check_stored("x" * length)


@pytest.mark.parametrize("text", ["x" * 20_001, "half a pair: \ud83d"])
def test_a_speech_that_cannot_be_read_again_is_not_taken(text: str) -> None:
    """P-11, P-12"""
    _check_stored(text)


def _check_stored(text: str) -> None:
    """It is refused as an answer, or it survives the codec."""
    try:
        said = parse_answer(RULES.forms["speech"], text)
    except BadAnswer:
        return
    assert isinstance(said, PersonaSpeech)
    codec = FactCodec(RULES.kinds)
    fact = TurnTaken(ask=AskId("1.speech.ada"), seat=SeatId("ada"), said=said)
    assert codec.decode(codec.encode(fact)) == fact


def test_a_conclusion_can_be_read_again_whatever_the_weights() -> None:
    """P-1, P-15"""
    with pytest.raises(BadRoster, match="weight"):
        validate_seats([build_seat("ada", weight=1e308), build_seat("bob", weight=1e308)])
    seats = validate_seats([build_seat("ada", weight=1e6), build_seat("bob", weight=1e-300)])
    table = quiet(MeetingRun(*seats)).drafts("ada").stands(bob=build_stand("support"))
    codec = FactCodec(RULES.kinds)
    assert codec.decode(codec.encode(table.last)) == table.last


# P-13


def test_consensus_follows_the_views_of_the_listeners() -> None:
    """P-13"""
    table = MeetingRun(ADA, BOB, CY).turn("ada", "Cut ten. And more.")
    assert table.state.points == (DiscussionPoint(entry=2, speaker=SeatId("ada"), claim="Cut ten."),)
    table.bids(bob=bid_silence(0.2, view="agree"))
    assert [(point.agreed, point.compute_status(3)) for point in table.state.points] == [(("bob",), "agreed")]
    table.bids(cy=bid_to_speak(0.9, view="contest"))
    assert [(point.agreed, point.contested, point.compute_status(3)) for point in table.state.points] == [
        (("bob",), ("cy",), "contested")
    ]


def test_a_speech_can_change_its_speakers_view() -> None:
    """P-13"""
    table = MeetingRun(ADA, BOB).turn("ada", "Cut.").bids(ada=bid_silence(0.4), bob=bid_to_speak(0.9, view="contest"))
    table.speaks("bob", "On reflection, yes.", refers_to=2, view="agree")
    assert table.state.points[0] == DiscussionPoint(entry=2, speaker=SeatId("ada"), claim="Cut.", agreed=(SeatId("bob"),))
    assert [point.entry for point in table.state.points] == [2, 3]


def test_nobody_agrees_with_itself() -> None:
    """P-13"""
    table = MeetingRun(ADA, BOB).turn("ada", "Cut.").bids(ada=bid_silence(0.4, view="agree"), bob=bid_silence(0.4))
    assert table.state.points[0].compute_status(2) == "open"


@pytest.mark.parametrize(
    ("supporters", "seats", "status"), [(0, 1, "open"), (1, 2, "agreed"), (1, 3, "agreed"), (1, 4, "open"), (2, 4, "agreed")]
)
def test_agreed_means_more_than_half_of_the_seats(supporters: int, seats: int, status: str) -> None:
    """P-13"""
    agreed = tuple(SeatId(f"s{number}") for number in range(supporters))
    assert DiscussionPoint(entry=2, speaker=SeatId("ada"), claim="x", agreed=agreed).compute_status(seats) == status


def test_consensus_stays_bounded_and_keeps_what_is_contested() -> None:
    """P-13"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Cut.")
        .bids(ada=bid_silence(0.4), bob=bid_to_speak(0.9, view="contest"))
        .speaks("bob", "No.")
    )
    for number in range(40):
        table.turn(("ada", "bob")[number % 2], f"{number}")
    assert len(table.state.points) == 20
    assert table.state.points[0] == DiscussionPoint(entry=2, speaker=SeatId("ada"), claim="Cut.", contested=(SeatId("bob"),))


# P-14


def _ended(table: MeetingRun) -> EndReason:
    ends = [fact.reason for fact in table.facts if isinstance(fact, TalkEnded)]
    assert len(ends) == 1
    return ends[0]


def test_the_talk_ends_when_every_reaction_is_below_the_threshold() -> None:
    """P-14"""
    assert _ended(MeetingRun(ADA, BOB).bids(ada=bid_silence(0.29), bob=bid_to_speak(0.0))) == "quiet"


def test_a_reaction_at_the_threshold_keeps_the_talk_going() -> None:
    """P-14"""
    assert MeetingRun(ADA, BOB).bids(ada=bid_silence(0.29), bob=bid_to_speak(0.3)).asked == ["1.speech.bob"]


def test_the_threshold_is_configurable() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB, settings=PersonaSettings(blind=False, threshold=0.8)).bids(
        ada=bid_to_speak(0.79), bob=bid_to_speak(0.1)
    )
    assert _ended(table) == "quiet"
    assert MeetingRun(ADA, BOB, settings=PersonaSettings(blind=False, threshold=0.0)).bids(
        ada=bid_to_speak(0), bob=bid_to_speak(0)
    ).asked == ["1.speech.ada"]


def test_a_quiet_end_names_the_seats_that_were_lost() -> None:
    """P-14, P-18"""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.").bids(ada=bid_silence(0.1), bob=None)
    assert table.last == TalkEnded(turn=2, reason="quiet", lost=(SeatId("bob"),))


def test_a_lost_seat_before_anyone_has_spoken_is_asked_once_more() -> None:
    """P-9, P-14: the silence of a seat that was never heard is no agreement."""
    table = MeetingRun(ADA, BOB).bids(ada=bid_silence(0.1), bob=None)
    assert table.last == TurnPassed(turn=1, lost=(SeatId("bob"),))
    again = table.bids(ada=bid_silence(0.1), bob=None).last
    assert again == TalkEnded(turn=2, reason="nobody_speaks", lost=(SeatId("bob"),))


def test_a_turn_in_which_every_seat_was_lost_is_never_taken_for_agreement() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB).bids(ada=None, bob=None)
    assert table.last == TurnPassed(turn=1, lost=(SeatId("ada"), SeatId("bob")))
    assert _ended(table.bids(ada=None, bob=None)) == "seats_lost"


@pytest.mark.parametrize("stance", sorted(DECIDERS))
def test_the_decider_can_find_that_enough_was_said(stance: str) -> None:
    """P-14"""
    table = MeetingRun(ADA, build_seat("dee", stance=f" {stance.upper()} ")).turn("ada", "Yes.")
    assert "sufficient" in table.brief("dee").own
    assert "sufficient" not in table.brief("ada").own
    assert _ended(table.bids(ada=bid_to_speak(1.0), dee=bid_silence(0.5, sufficient=True))) == "sufficient"


def test_only_the_decider_can_find_that_enough_was_said() -> None:
    """P-14"""
    table = MeetingRun(ADA, build_seat("dee", stance="decider")).turn("ada", "Yes.")
    assert table.bids(ada=bid_silence(0.5, sufficient=True), dee=bid_to_speak(0.5)).asked == ["2.speech.dee"]


def test_without_a_decider_nobody_can_find_that_enough_was_said() -> None:
    """P-14"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Yes.")
        .bids(ada=bid_silence(0.5, sufficient=True), bob=bid_to_speak(0.5, sufficient=True))
    )
    assert table.asked == ["2.speech.bob"]


def test_nothing_is_sufficient_before_someone_has_spoken() -> None:
    """P-14"""
    table = MeetingRun(ADA, build_seat("dee", stance="decider")).bids(
        ada=bid_to_speak(0.5), dee=bid_silence(0.5, sufficient=True)
    )
    assert table.asked == ["1.speech.ada"]


def test_a_floor_that_was_given_is_not_taken_back_by_the_decider() -> None:
    """P-12, P-14: what a lost speech leads to is the next speaker."""
    table = MeetingRun(ADA, BOB, build_seat("dee", stance="decider")).turn("ada", "Yes.")
    table.bids(ada=bid_silence(0.5), bob=bid_to_speak(0.9), dee=bid_to_speak(0.5)).lose("speech", "bob")
    assert table.asked == ["2.speech.dee"]


@pytest.mark.parametrize("turns", [1, 2])
def test_the_talk_ends_at_the_turn_budget(turns: int) -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB, budget=Budget(turns=turns))
    for number in range(turns):
        table.turn(("ada", "bob")[number], "Yes.")
    assert _ended(table) == "turns"
    assert table.asked == [f"{turns + 1}.draft.ada"]


def test_a_turn_that_nobody_took_counts_against_the_budget() -> None:
    """P-14"""
    assert _ended(MeetingRun(ADA, BOB, budget=Budget(turns=1)).bids(ada=None, bob=None)) == "turns"


def test_a_meeting_without_a_turn_budget_ends_all_the_same() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB)
    effects = RULES.decide(replace(table.state, turn=MOST_TURNS + 1))
    assert [getattr(effect, "fact", None) for effect in effects] == [TalkEnded(turn=MOST_TURNS + 1, reason="turns")]


@pytest.mark.parametrize("budget", ["tokens", "money", "time"])
@pytest.mark.parametrize("phase", ["blind", "intents", "speech"])
def test_the_talk_ends_at_a_budget_whatever_it_was_doing(phase: str, budget: BudgetKind) -> None:
    """P-14"""
    table = _at(phase).put(BudgetExhausted(budget=budget, spent="all"))
    assert _ended(table) == budget
    assert table.asked == ["1.draft.ada"]


def test_the_talk_ends_when_nobody_speaks_in_two_turns() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB)
    for _ in range(2):
        table.bids(ada=bid_silence(0.5), bob=bid_silence(0.9))
    assert _ended(table) == "nobody_speaks"


def test_two_idle_turns_apart_do_not_end_the_talk() -> None:
    """P-14"""
    table = (
        MeetingRun(ADA, BOB)
        .bids(ada=bid_silence(0.5), bob=bid_silence(0.5))
        .turn("ada", "Yes.")
        .bids(ada=bid_silence(0.5), bob=bid_silence(0.5))
    )
    assert table.asked == ["4.intent.ada", "4.intent.bob"]


def test_the_talk_ends_when_every_speaker_is_lost_in_two_turns() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB)
    for _ in range(2):
        table.bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8)).lose("speech", "ada").lose("speech", "bob")
    assert _ended(table) == "seats_lost"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda: quiet(MeetingRun(ADA, BOB)), "quiet"),
        (lambda: MeetingRun(ADA, BOB, budget=Budget(turns=1)).turn("ada", "Yes."), "turns"),
        (lambda: MeetingRun(ADA, BOB).put(BudgetExhausted(budget="money", spent="all")), "money"),
    ],
)
def test_the_conclusion_says_what_ended_the_talk(end: object, reason: str) -> None:
    """P-14"""
    assert callable(end)
    table: MeetingRun = end().drafts("ada").stands(bob=build_stand("support"))
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.reason == reason
    assert build_decision(table.timeline).ended_by == reason


def test_a_cancelled_meeting_asks_for_nothing_and_changes_no_more() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB).put(SessionCancelled(reason="enough"))
    before = table.state
    assert (table.asked, RULES.decide(table.state)) == ([], ())
    assert table.put(InputGiven(text="late"), SessionResumed()).state == before
    assert (build_decision(table.timeline).status, build_decision(table.timeline).ended_by) == ("cancelled", "cancelled")


# P-15


def test_the_decider_writes_the_conclusion() -> None:
    """P-15"""
    table = quiet(MeetingRun(build_seat("ada", weight=9), build_seat("dee", stance="Decider")))
    assert table.asks == (Ask(id=AskId("1.draft.dee"), seat=SeatId("dee"), kind="draft", turn=1, patience=180.0),)


def test_a_configured_summarizer_writes_in_the_deciders_place() -> None:
    """P-15"""
    settings = PersonaSettings(blind=False, summarizer=SeatId("ada"))
    assert quiet(MeetingRun(ADA, build_seat("dee", stance="decider"), settings=settings)).asked == ["1.draft.ada"]


def test_the_pen_goes_on_from_the_decider_by_weight_then_by_seat() -> None:
    """P-15"""
    table = quiet(MeetingRun(ADA, BOB, build_seat("cy", weight=2), build_seat("dee", stance="decider", weight=0.1)))
    order = []
    for _ in range(4):
        order.append(table.asks[0].seat)
        table.lose("draft", table.asks[0].seat, "error")
    assert order == ["dee", "cy", "ada", "bob"]
    assert table.state.phase == "closed"


def test_without_anyone_to_write_the_meeting_concludes_without_a_decision() -> None:
    """P-15, P-18"""
    table = quiet(MeetingRun(ADA, BOB)).lose("draft", "ada", "error").lose("draft", "bob")
    assert table.last == MeetingConcluded(
        reason="quiet",
        author=None,
        support=None,
        turnout=0.0,
        positions=(),
        lost=(
            PersonaLostSeat(seat=SeatId("ada"), times=1, last="error", weight_share=0.5, voiceless=True),
            PersonaLostSeat(seat=SeatId("bob"), times=1, last="timeout", weight_share=0.5, voiceless=True),
        ),
        could_differ=True,
    )
    found = build_decision(table.timeline)
    assert (found.status, found.decision, found.author, found.confidence) == ("concluded", None, None, None)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (build_draft("x", 1, 3), None),
        (build_draft("x", 4), "draft: entry 4 does not exist; the entries are 1 to 3"),
        (
            replace(build_draft("x", 1), reasons=(DraftClaim(text="y", entries=(2, 9)),)),
            "draft: entry 9 does not exist; the entries are 1 to 3",
        ),
        (
            replace(build_draft("x", 1), dissent=(DraftClaim(text="y", entries=(8,)),)),
            "draft: entry 8 does not exist; the entries are 1 to 3",
        ),
        (
            replace(build_draft("x", 1), open_questions=(DraftClaim(text="y", entries=(7,)),)),
            "draft: entry 7 does not exist; the entries are 1 to 3",
        ),
        (
            Draft(decision=DraftClaim(text="x"), confidence=1.0),
            "draft: 'x' names no entries; every claim names those (1 to 3) that it rests on",
        ),
    ],
)
def test_a_claim_names_entries_that_exist(said: Draft, fault: str | None) -> None:
    """P-15"""
    table = quiet(MeetingRun(ADA, BOB).turn("ada", "Yes.").turn("bob", "No."))
    assert table.brief("ada").fault(said) == fault


def test_every_claim_names_the_entries_that_it_rests_on() -> None:
    """P-15: each claim in it names the timeline entries it rests on."""
    table = quiet(MeetingRun(ADA, BOB).turn("ada", "Yes."))
    assert table.brief("ada").fault(replace(build_draft("x", 1), reasons=(DraftClaim(text="because"),))) is not None


def test_an_entry_that_does_not_exist_is_not_shown_even_if_it_was_recorded() -> None:
    """P-15"""
    table = quiet(MeetingRun(ADA, BOB)).drafts("ada", build_draft("x", 9, 1, 1)).stands(bob=build_stand("support"))
    claim = build_decision(table.timeline).decision
    assert claim is not None
    assert claim.entries == (1,)


def test_last_words_are_weighed_by_bias_confidence_and_trust() -> None:
    """P-15"""
    table = quiet(
        MeetingRun(
            build_seat("ada", weight=2, trust=0.5),
            build_seat("bob", weight=3, trust=0.75),
            build_seat("cy", trust=1.0),
            build_seat("di"),
        )
    )
    table.drafts("bob", build_draft(confidence=0.5)).stands(
        ada=build_stand("oppose", 0.5), cy=build_stand("conditional", 1.0), di=build_stand("abstain")
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.positions == (
        WeighedStand(seat=SeatId("ada"), verdict="oppose", weight=0.5),
        WeighedStand(seat=SeatId("bob"), verdict="support", weight=1.125),
        WeighedStand(seat=SeatId("cy"), verdict="conditional", weight=1.0),
        WeighedStand(seat=SeatId("di"), verdict="abstain", weight=0.5),
    )
    assert table.last.support == pytest.approx(1.625 / 2.625)
    assert table.last.turnout == pytest.approx(6 / 7)
    assert (table.last.author, table.last.could_differ, table.last.lost) == ("bob", False, ())


def test_dissent_is_told_with_who_holds_it() -> None:
    """P-15"""
    said = replace(build_draft("Cut.", 1), dissent=(DraftClaim(text="cy doubts it", entries=(1, 99)),))
    table = quiet(MeetingRun(ADA, BOB, CY)).drafts("ada", said)
    table.stands(bob=build_stand("oppose", 1.0, "Never."), cy=build_stand("conditional", 1.0, "Well.", condition="If needed."))
    dissent = build_decision(table.timeline).dissent
    assert [(voice.seat, voice.kind, voice.text, voice.entries) for voice in dissent] == [
        ("bob", "oppose", "Never.", ()),
        ("cy", "conditional", "If needed.", ()),
        (None, "reported", "cy doubts it", (1,)),
    ]


def test_all_but_the_author_are_asked_for_their_last_word_at_once() -> None:
    """P-15"""
    assert quiet(MeetingRun(ADA, BOB, CY)).drafts("ada").asked == ["1.stand.bob", "1.stand.cy"]


def test_who_sits_alone_has_the_last_word_at_once() -> None:
    """P-15"""
    table = MeetingRun(ADA).bids(ada=bid_silence(0.1)).drafts("ada", build_draft(confidence=0.5))
    assert isinstance(table.last, MeetingConcluded)
    assert (table.last.support, table.last.turnout) == (1.0, 1.0)


# P-16


def test_the_scenario_of_the_source() -> None:
    """P-16: layoffs of 20 %: A speaks, B answers, C steps in at 0.95; exactly A, B, C."""
    table = MeetingRun(
        build_seat("A", platform="openai:gpt-4", stance="激进派"),
        build_seat("B", platform="ollama:llama3", stance="保守派"),
        build_seat("C", platform="anthropic:claude-3", stance="调停者"),
        topic="我们要不要裁员 20%？",
        language="zh",
    )
    assert table.asked == ["1.intent.A", "1.intent.B", "1.intent.C"]
    table.bids(
        A=bid_to_speak(0.8, "必须反对裁员，影响士气。"),
        B=bid_to_speak(0.8, "必须支持裁员，节省成本。"),
        C=bid_silence(0.4, "先听听他们怎么说。"),
    )
    assert table.last == FloorGiven(turn=1, seat=SeatId("A"), score=0.8, reason="first_by_id")
    table.speaks("A", "裁员会导致核心人才流失……")
    assert "| 裁员会导致核心人才流失……" in table.brief("B").shared
    table.bids(
        A=bid_silence(0.1),
        B=bid_to_speak(0.9, "A 的话完全没道理。", view="contest"),
        C=bid_silence(0.3, "还是没到我说话的时候。"),
    )
    assert table.last == FloorGiven(turn=2, seat=SeatId("B"), score=0.9, reason="only_one")
    table.speaks("B", "如果不裁员，公司撑不过三个月……", refers_to=2)
    table.bids(
        A=bid_to_speak(0.6, "B 说得有道理，但我还是想保留研发部。"),
        B=bid_silence(0.2),
        C=bid_to_speak(0.95, "双方矛盾激化，我需要介入。"),
    )
    assert table.last == FloorGiven(turn=3, seat=SeatId("C"), score=0.95, reason="highest")
    table.speaks("C", "为了平衡生存与发展，建议仅对非核心部门进行 10% 优化……")
    timeline = table.timeline
    assert [(line.id, line.speaker, line.relevance_score) for line in timeline.lines] == [
        (1, "USER", None),
        (2, "A", 0.8),
        (3, "B", 0.9),
        (4, "C", 0.95),
    ]
    assert timeline.turns[0].bids[2].intent == bid_silence(0.4, "先听听他们怎么说。")
    assert table.state.points[0].contested == ("B",)


# P-17


def test_all_are_asked_blind_before_the_first_turn() -> None:
    """P-17"""
    table = MeetingRun(ADA, BOB, settings=BLIND)
    assert table.asked == ["1.position.ada", "1.position.bob"]
    assert {ask.patience for ask in table.asks} == {60.0}
    assert table.position("ada", "For.").position("bob", "Against.").asked == ["1.intent.ada", "1.intent.bob"]


def test_a_blind_position_hears_nothing_of_the_others() -> None:
    """P-17"""
    table = MeetingRun(ADA, BOB, settings=BLIND)
    before = table.brief("bob")
    table.position("ada", "For, since the sky is green.").give_input("And the union?")
    after = table.brief("bob")
    assert (after.system, after.shared, after.own) == (before.system, before.shared, before.own)
    assert after.perception.memory.recent == ()
    assert "sky" not in after.shared + after.own + after.subject
    assert "ada" not in after.shared + after.own


def test_a_position_is_not_heard_in_the_talk_either() -> None:
    """P-17: positions are no timeline entries."""
    table = MeetingRun(ADA, BOB, settings=BLIND).position("ada", "The sky is green.").position("bob", "Against.")
    brief = table.brief("bob")
    assert "sky" not in brief.shared + brief.own
    assert len(table.timeline.lines) == 1


def test_a_lost_position_does_not_hold_up_the_meeting() -> None:
    """P-17"""
    table = MeetingRun(ADA, BOB, settings=BLIND).position("ada", "For.").lose("position", "bob")
    assert table.asked == ["1.intent.ada", "1.intent.bob"]
    assert table.state.positions[SeatId("bob")] is None


def test_the_decision_shows_how_positions_moved() -> None:
    """P-17"""
    table = (
        MeetingRun(ADA, BOB, CY, settings=BLIND)
        .position("ada", "For.", 0.9)
        .position("bob", "Against.", 0.6)
        .lose("position", "cy")
    )
    quiet(table.turn("ada", "Because.")).drafts("ada", build_draft("Cut.", 2, confidence=0.8))
    table.stands(bob=build_stand("support", 0.7, "For, after all.", moved_by=2), cy=build_stand("abstain", 0.0, "", moved_by=99))
    moved = [
        (found.seat, found.before, found.confidence_before, found.after, found.verdict, found.confidence_after, found.moved_by)
        for found in build_decision(table.timeline).positions
    ]
    assert moved == [
        ("ada", "For.", 0.9, "Cut.", "support", 0.8, None),
        ("bob", "Against.", 0.6, "For, after all.", "support", 0.7, 2),
        ("cy", None, None, None, "abstain", 0.0, None),
    ]


def test_whether_positions_are_taken_blind_is_a_setting() -> None:
    """P-17: from how many seats on is the wiring's to say."""
    assert PersonaSettings().blind
    assert MeetingRun(opened=build_opening(ADA, settings=PersonaSettings(blind=True))).asked == ["1.position.ada"]
    assert MeetingRun(ADA, BOB, CY, settings=PersonaSettings(blind=False)).asked[0] == "1.intent.ada"


# P-18


def test_lost_seats_are_part_of_the_conclusion() -> None:
    """P-18"""
    table = (
        MeetingRun(build_seat("ada", weight=3), BOB, CY)
        .bids(ada=bid_to_speak(0.9), bob=None, cy=bid_silence(0.1))
        .speaks("ada", "Yes.")
    )
    table.bids(ada=bid_silence(0.1), bob=None, cy=bid_silence(0.1)).drafts("ada").stands(cy=build_stand("support")).lose(
        "stand", "bob", "refused"
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.lost == (PersonaLostSeat(seat=SeatId("bob"), times=3, last="refused", weight_share=0.2, voiceless=True),)
    assert table.last.turnout == pytest.approx(0.8)


def test_who_failed_once_and_had_its_last_word_is_not_voiceless() -> None:
    """P-18"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Yes.")
        .bids(ada=bid_silence(0.1), bob=None)
        .drafts("ada")
        .stands(bob=build_stand("support"))
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.lost == (PersonaLostSeat(seat=SeatId("bob"), times=1, last="timeout", weight_share=0.5, voiceless=False),)
    assert not table.last.could_differ


@pytest.mark.parametrize(("missing", "could"), [(0.99, False), (1.0, True), (1.01, True)])
def test_the_outcome_could_differ_when_the_missing_weight_reaches_the_margin(missing: float, could: bool) -> None:
    """P-18: at the boundary the lost seat would have made a tie."""
    table = (
        quiet(MeetingRun(build_seat("ada", stance="decider", trust=1.0), build_seat("bob", trust=1.0, weight=missing)))
        .drafts("ada")
        .stands(bob=None)
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.could_differ is could
    assert build_decision(table.timeline).could_differ is could


def test_a_lost_seat_that_nobody_trusts_could_not_have_changed_the_outcome() -> None:
    """P-18"""
    table = (
        quiet(MeetingRun(build_seat("ada", stance="decider", weight=0.1), build_seat("bob", weight=9, trust=0.0)))
        .drafts("ada")
        .stands(bob=None)
    )
    assert isinstance(table.last, MeetingConcluded)
    assert not table.last.could_differ


def test_a_fork_gives_a_seat_to_another_platform_from_there_on() -> None:
    """P-2: the timeline names the platform that spoke."""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
    swaps = (Swap(seat=SeatId("ada"), platform="openai:x"), Swap(seat=SeatId("eve"), platform="x"))
    table.put(SessionForked(source=SessionId("think_1"), at=3, swaps=swaps)).turn("ada", "Again.")
    assert [line.platform for line in table.timeline.lines] == ["", "script:ada", "openai:x"]


def test_what_was_spent_is_added_up_seat_by_seat() -> None:
    """P-14"""
    usage = Usage(tokens_in=10, tokens_out=2, cost=5, calls=1)
    table = MeetingRun(ADA, BOB).bid("ada", bid_to_speak(0.9), usage)
    table.put(SeatLost(ask=AskId("1.intent.bob"), seat=SeatId("bob"), reason="malformed", usage=usage))
    timeline = table.speaks("ada", "Yes.", usage=usage).timeline
    assert (timeline.spent.tokens, timeline.spent.cost, timeline.spent.calls) == (36, 15, 3)
    assert {name: spent.tokens for name, spent in timeline.costs.seats.items()} == {"ada": 24, "bob": 12}
    assert timedelta(seconds=timeline.spent.seconds) == timeline.last_at - timeline.opened_at
