"""Seats, the timeline, inputs, perception, bids and the floor (P-1 … P-12)."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.support.persona_scenes import ADA, BOB, CY, REALISTIC, _at, quiet
from tests.support.play_persona import (
    MeetingRun,
    bid_silence,
    bid_to_speak,
    build_seat,
    build_stand,
)

from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget, BudgetKind
from moothall.domain.context import MAX_DIGESTS, MAX_UTTERANCE_LENGTH
from moothall.domain.effects import Ask
from moothall.domain.facts import BudgetExhausted
from moothall.domain.ids import (
    USER,
    AskId,
    SeatId,
    ask_id,
    daily_id,
    daily_prefix,
    parse_seat_id,
    parse_session_id,
)
from moothall.domain.roster import MAX_SEATS, Swap, swap_seats, validate_seats, validate_swaps
from moothall.errors import BadAnswer, BadName, BadRoster, BadSetting
from moothall.features.persona.facts import (
    FloorGiven,
    Intent,
    IntentDeclared,
    PersonaSettings,
    PersonaSpeech,
    TalkEnded,
    TurnPassed,
    TurnTaken,
)
from moothall.features.persona.plugin import open_session as opened_by_plan
from moothall.features.persona.rules import RULES
from moothall.features.persona.timeline import SeatBid
from moothall.ports.plugin import Plan
from moothall.reading.answers import parse_answer

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
        (
            [build_seat("ada", weight=0)],
            "seat 'ada' has the weight 0; a bias weight must be greater than 0",
        ),
        ([build_seat("ada", weight=-1)], "seat 'ada' has the weight -1"),
        ([build_seat("ada", weight=math.nan)], "seat 'ada' has the weight nan"),
        ([build_seat("ada", weight=math.inf)], "seat 'ada' has the weight inf"),
        ([build_seat("ada", trust=1.1)], "seat 'ada' has the trust 1.1"),
        ([build_seat("ada", trust=math.nan)], "seat 'ada' has the trust nan"),
        ([replace(ADA, patience=0.0)], "seat 'ada' has the patience 0.0"),
        ([replace(ADA, patience=math.inf)], "seat 'ada' has the patience inf"),
        ([], "a meeting needs 1 to 64 seats, not 0"),
        (
            [build_seat(f"s{number}") for number in range(MAX_SEATS + 1)],
            f"a meeting needs 1 to 64 seats, not {MAX_SEATS + 1}: leave some out",
        ),
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
    "name",
    [
        "",
        "  ",
        "a b",
        "a.b",
        "a\nb",
        "USER",
        "user",
        "#1",
        "[x]",
        "x" * 65,
        "a\u202eb",
        "a\u200bb",
        "|",
        "\u0301!",
    ],
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
    with pytest.raises(
        BadSetting, match="summarizer = 'eve' is not a seat; the seats are: ada, bob"
    ):
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
    assert (first.id, first.speaker, first.type, first.platform, first.relevance_score) == (
        1,
        "USER",
        "input",
        "",
        None,
    )
    assert (second.speaker, second.platform, second.content, second.relevance_score) == (
        "ada",
        "script:ada",
        "Yes.",
        0.9,
    )
    assert (third.speaker, third.refers_to, third.relevance_score, third.type) == (
        "bob",
        2,
        0.95,
        "speech",
    )
    assert third.timestamp == "2024-05-20T10:00:08Z"


@pytest.mark.parametrize(
    ("named", "kept"), [(1, 1), (2, 2), (3, None), (4, None), (999, None), (None, None)]
)
def test_a_reference_to_an_entry_that_does_not_exist_is_dropped(
    named: int | None, kept: int | None
) -> None:
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
def test_the_first_words_may_name_the_entry_that_is_answered(
    text: str, speech: PersonaSpeech
) -> None:
    """P-4"""
    assert PersonaSpeech.from_text(text) == speech


@pytest.mark.parametrize(
    "text", ["Re 20% layoffs: no.", "re 5 years ago we tried this", "Re: 3 points. First, cash."]
)
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
    assert [bid.intent for bid in table.timeline.turns[0].bids] == [
        bid_silence(0.5, "wait"),
        bid_silence(0.6, "hear"),
    ]
    assert len(table.timeline.lines) == 1


# P-7


@pytest.mark.parametrize("phase", ["blind", "intents", "speech", "draft", "stands"])
def test_an_input_at_any_point_becomes_the_newest_entry(phase: str) -> None:
    """P-7"""
    table = _at(phase)
    assert table.state.phase == phase
    table.give_input("And the union?")
    line = table.timeline.lines[-1]
    assert (line.id, line.speaker, line.content, line.type) == (
        2,
        "USER",
        "And the union?",
        "input",
    )
    latest = table.state.memory.latest
    assert latest is not None
    assert (latest.id, latest.text) == (2, "And the union?")


@pytest.mark.parametrize("phase", ["intents", "speech", "draft", "stands"])
def test_an_input_is_in_the_next_perception(phase: str) -> None:
    """P-7: whoever is asked next hears it."""
    table = _at(phase).give_input("And the union?")
    for ask in table.asks:
        assert "[#2 USER]\n> And the union?" in RULES.brief(table.state, ask).shared


@pytest.mark.parametrize("phase", ["blind", "speech"])
def test_an_input_during_the_talk_withdraws_no_ask(phase: str) -> None:
    """P-7"""
    table = _at(phase)
    before = table.asks
    assert table.give_input("And the union?").asks == before


@pytest.mark.parametrize("phase", ["draft", "stands"])
def test_an_input_while_the_conclusion_is_written_takes_the_meeting_back_to_talking(
    phase: str,
) -> None:
    """P-7"""
    table = _at(phase).give_input("And the union?")
    assert table.asked == ["2.intent.ada", "2.intent.bob"]
    assert (
        table.state.draft,
        table.state.author,
        table.state.ended_by,
        table.state.drafters_lost,
    ) == (None, None, None, ())
    assert "does what was just said move you?" in table.brief("ada").own
    quiet(table)
    assert table.asked == ["2.draft.ada"]
    assert table.last == TalkEnded(turn=2, reason="nobody_spoke")


def test_a_drafter_that_was_lost_may_write_again_after_an_input() -> None:
    """P-7"""
    table = _at("draft").lose("draft", "ada")
    assert table.asked == ["1.draft.bob"]
    assert quiet(table.give_input("Again.")).asked == ["2.draft.ada"]


@pytest.mark.parametrize("budget", ["tokens", "money", "time"])
@pytest.mark.parametrize("phase", ["draft", "stands"])
def test_an_input_does_not_reopen_a_meeting_that_its_budget_has_ended(
    phase: str, budget: BudgetKind
) -> None:
    """P-7: the input is heard, the conclusion is written all the same."""
    table = MeetingRun(ADA, BOB).put(BudgetExhausted(budget=budget, spent=9, limit=9))
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
    assert "does what was just said move you?" in table.brief("ada").own


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
    table = (
        quiet(MeetingRun(ADA, BOB))
        .put(BudgetExhausted(budget="money", spent=9, limit=9))
        .drafts("ada")
        .give_input("Wait.")
    )
    assert table.asked == ["1.stand.bob"]


# P-8


def test_a_perception_holds_goal_digest_and_the_last_turns() -> None:
    """P-8"""
    table = MeetingRun(ADA, BOB)
    assert table.state.memory.window == 6
    for number in range(10):
        table.turn(("ada", "bob")[number % 2], f"Speech {number}. {'More of it. ' * 30}")
    brief = table.brief("ada")
    assert [heard.id for heard in brief.perception.memory.recent] == [6, 7, 8, 9, 10, 11]
    assert [gist.id for gist in brief.perception.memory.older] == [1, 2, 3, 4, 5]
    assert f"| Speech 9. {'More of it. ' * 30}" in brief.shared
    assert "[#2 ada]\n| Speech 0. More of it. " in brief.shared
    assert f"Speech 0. {'More of it. ' * 30}" not in brief.shared


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
        table.turn(
            ("ada", "bob")[number % 2], f"Speech {number}.", score=1.0 if number in {5, 9} else 0.4
        )
    memory = table.state.memory
    assert len(memory.older) == MAX_DIGESTS
    assert {1, 7, 11} <= {gist.id for gist in memory.older}
    assert memory.left_out == 61 - 6 - MAX_DIGESTS
    assert f"({memory.left_out} older entries left out)" in table.brief("ada").shared


def test_what_a_seat_receives_stays_bounded_as_the_meeting_grows() -> None:
    """P-8: turn 500 costs hardly more than turn 20."""
    table = MeetingRun(ADA, BOB, CY)
    sizes: dict[int, int] = {}
    for number in range(1, 501):
        if number in {20, 500}:
            brief = table.brief("ada")
            sizes[number] = len(brief.shared) + len(brief.own)
        table.turn(
            ("ada", "bob", "cy")[number % 3],
            REALISTIC.format(n=number),
            score=(number % 7) / 10 + 0.3,
        )
    assert sizes[500] <= 1.3 * sizes[20]


def test_an_endless_speech_is_shown_cut_and_kept_whole() -> None:
    """P-8"""
    table = MeetingRun(ADA, BOB).turn("ada", "x" * 20_000)
    assert len(table.brief("bob").shared) < MAX_UTTERANCE_LENGTH + 300
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
    assert MeetingRun(ADA, BOB, CY).bids(bob=bid_silence(0.1)).asked == [
        "1.intent.ada",
        "1.intent.cy",
    ]


def test_a_lost_bid_is_silence_and_is_recorded() -> None:
    """P-9"""
    table = MeetingRun(ADA, BOB).bids(ada=bid_to_speak(0.9), bob=None)
    assert table.last == FloorGiven(turn=1, seat=SeatId("ada"), score=0.9, reason="only_one")
    assert table.timeline.turns[0].bids[1] == SeatBid(
        seat=SeatId("bob"), intent=None, lost="timeout"
    )
    assert [(loss.seat, loss.asked_for, loss.reason) for loss in table.timeline.losses] == [
        ("bob", "intent", "timeout")
    ]


def test_a_bid_for_another_turn_is_ignored() -> None:
    """P-9: a late answer."""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
    before = table.state
    late = IntentDeclared(
        ask=ask_id(1, "intent", SeatId("bob")), seat=SeatId("bob"), said=bid_to_speak(1.0)
    )
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
    assert (
        _floor(ada=bid_silence(0.9), bob=bid_to_speak(0.0), cy=bid_silence(0.3)).reason
        == "only_one"
    )


def test_a_tie_goes_to_whoever_was_silent_for_longest() -> None:
    """P-10: who has never spoken has been silent for longest of all."""
    table = MeetingRun(ADA, BOB, CY).turn("ada", "1").turn("bob", "2").turn("cy", "3")
    assert table.bids(
        ada=bid_to_speak(0.8), bob=bid_to_speak(0.8), cy=bid_silence(0.4)
    ).last == FloorGiven(turn=4, seat=SeatId("ada"), score=0.8, reason="longest_silent")
    assert (
        _floor("ada", ada=bid_silence(0.4), bob=bid_to_speak(0.8), cy=bid_to_speak(0.8)).reason
        == "first_by_id"
    )
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
    table = MeetingRun(CY, BOB, ADA).bids(
        cy=bid_to_speak(0.8), bob=bid_to_speak(0.8), ada=bid_to_speak(0.8)
    )
    assert table.last == FloorGiven(turn=1, seat=SeatId("ada"), score=0.8, reason="first_by_id")


def test_the_last_speaker_waits_while_anyone_else_wants_to_speak() -> None:
    """P-10"""
    assert (
        _floor("ada", ada=bid_to_speak(1.0), bob=bid_to_speak(0.3), cy=bid_silence(0.9)).seat
        == "bob"
    )


def test_the_last_speaker_may_speak_again_if_no_one_else_wants_to() -> None:
    """P-10"""
    floor = _floor("ada", ada=bid_to_speak(0.6), bob=bid_silence(0.9), cy=None)
    assert floor == FloorGiven(turn=2, seat=SeatId("ada"), score=0.6, reason="nobody_else")


def test_an_input_between_does_not_make_the_last_speaker_another() -> None:
    """P-10"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Yes.")
        .give_input("Go on.")
        .bids(ada=bid_to_speak(1.0), bob=bid_to_speak(0.4))
    )
    assert isinstance(table.last, FloorGiven)
    assert table.last.seat == "bob"


def test_the_reason_says_when_the_last_speaker_was_passed_over() -> None:
    """P-10: bob's 0.4 got the floor over ada's 0.9; the recorded reason must not be that it was the highest."""
    assert (
        _floor("ada", ada=bid_to_speak(0.9), bob=bid_to_speak(0.4), cy=bid_silence(0.4)).reason
        != "highest"
    )


# P-11, P-12


def test_while_one_speaks_nobody_else_is_asked() -> None:
    """P-11"""
    table = MeetingRun(ADA, BOB, CY).bids(
        ada=bid_to_speak(0.9), bob=bid_to_speak(0.8), cy=bid_silence(0.4)
    )
    assert table.asks == (
        Ask(id=AskId("1.speech.ada"), seat=SeatId("ada"), kind="speech", turn=1, patience=180.0),
    )
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
    table = (
        MeetingRun(ADA, BOB).bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4)).lose("speech", "ada")
    )
    assert table.last == TurnPassed(turn=1)
    assert table.asked == ["2.intent.ada", "2.intent.bob"]
    assert len(table.timeline.lines) == 1


def test_who_lost_the_floor_may_bid_again_in_the_next_turn() -> None:
    """P-12"""
    table = (
        MeetingRun(ADA, BOB)
        .bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8))
        .lose("speech", "ada")
        .speaks("bob", "No.")
    )
    assert table.bids(ada=bid_to_speak(0.5), bob=bid_silence(0.4)).asked == ["2.speech.ada"]


def test_a_speech_of_another_turn_does_not_enter() -> None:
    """P-12"""
    table = (
        MeetingRun(ADA, BOB).turn("ada", "Yes.").bids(ada=bid_silence(0.4), bob=bid_to_speak(0.9))
    )
    late = TurnTaken(
        ask=ask_id(1, "speech", SeatId("bob")),
        seat=SeatId("bob"),
        said=PersonaSpeech(content="late"),
    )
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
