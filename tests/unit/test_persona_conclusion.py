"""Consensus, the end of the talk, the conclusion, blind positions, losses (P-13 … P-18)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.persona_scenes import ADA, BLIND, BOB, CY, _at, quiet
from tests.support.play_persona import (
    MeetingRun,
    bid_silence,
    bid_to_speak,
    build_draft,
    build_opening,
    build_seat,
    build_stand,
)

from moothall.domain.budget import Budget, BudgetKind, Usage
from moothall.domain.effects import Ask
from moothall.domain.facts import (
    BudgetExhausted,
    InputGiven,
    SeatLost,
    SessionCancelled,
    SessionForked,
    SessionResumed,
)
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.roster import Swap
from moothall.domain.session_state import LostSeat
from moothall.features.persona.facts import (
    DraftClaim,
    EndReason,
    FloorGiven,
    MeetingConcluded,
    PersonaSettings,
    Stand,
    TalkEnded,
    TurnPassed,
    WeighedStand,
)
from moothall.features.persona.report import build_persona_report
from moothall.features.persona.rules import MAX_TURNS, RULES
from moothall.features.persona.state import (
    DECIDERS,
    MAX_POINTS,
    DiscussionPoint,
    add_point,
    apply_view,
)
from moothall.features.persona.timeline import build_decision
from moothall.reading.answers import read_answer
from moothall.reports.plain_text import render_markdown

# P-13


def test_consensus_follows_the_views_of_the_listeners() -> None:
    """P-13"""
    table = MeetingRun(ADA, BOB, CY).turn("ada", "Cut ten. And more.")
    assert table.state.points == (
        DiscussionPoint(entry=2, speaker=SeatId("ada"), claim="Cut ten. And more."),
    )
    table.bids(bob=bid_silence(0.2, view="agree"))
    assert [(point.agreed, point.compute_status(3)) for point in table.state.points] == [
        (("bob",), "agreed")
    ]
    table.bids(cy=bid_to_speak(0.9, view="contest"))
    assert [
        (point.agreed, point.contested, point.compute_status(3)) for point in table.state.points
    ] == [(("bob",), ("cy",), "contested")]


def test_a_speech_can_change_its_speakers_view() -> None:
    """P-13"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Cut.")
        .bids(ada=bid_silence(0.4), bob=bid_to_speak(0.9, view="contest"))
    )
    table.speaks("bob", "On reflection, yes.", refers_to=2, view="agree")
    assert table.state.points[0] == DiscussionPoint(
        entry=2, speaker=SeatId("ada"), claim="Cut.", agreed=(SeatId("bob"),)
    )
    assert [point.entry for point in table.state.points] == [2, 3]


def test_nobody_agrees_with_itself() -> None:
    """P-13"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Cut.")
        .bids(ada=bid_silence(0.4, view="agree"), bob=bid_silence(0.4))
    )
    assert table.state.points[0].compute_status(2) == "open"


@pytest.mark.parametrize(
    ("supporters", "seats", "status"),
    [(0, 1, "open"), (1, 2, "agreed"), (1, 3, "agreed"), (1, 4, "open"), (2, 4, "agreed")],
)
def test_agreed_means_more_than_half_of_the_seats(supporters: int, seats: int, status: str) -> None:
    """P-13"""
    agreed = tuple(SeatId(f"s{number}") for number in range(supporters))
    assert (
        DiscussionPoint(entry=2, speaker=SeatId("ada"), claim="x", agreed=agreed).compute_status(
            seats
        )
        == status
    )


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
    assert table.state.points[0] == DiscussionPoint(
        entry=2, speaker=SeatId("ada"), claim="Cut.", contested=(SeatId("bob"),)
    )


# P-14


def _ended(table: MeetingRun) -> EndReason:
    ends = [fact.reason for fact in table.facts if isinstance(fact, TalkEnded)]
    assert len(ends) == 1
    return ends[0]


def test_the_talk_ends_when_every_reaction_is_below_the_threshold() -> None:
    """P-14"""
    assert (
        _ended(
            MeetingRun(ADA, BOB)
            .turn("ada", "Yes.")
            .bids(ada=bid_silence(0.29), bob=bid_to_speak(0.0))
        )
        == "quiet"
    )


def test_a_reaction_at_the_threshold_keeps_the_talk_going() -> None:
    """P-14"""
    assert MeetingRun(ADA, BOB).bids(ada=bid_silence(0.29), bob=bid_to_speak(0.3)).asked == [
        "1.speech.bob"
    ]


def test_the_threshold_is_configurable() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB, settings=PersonaSettings(blind=False, threshold=0.8)).turn(
        "ada", "Yes."
    )
    assert _ended(table.bids(ada=bid_to_speak(0.79), bob=bid_to_speak(0.1))) == "quiet"
    assert MeetingRun(ADA, BOB, settings=PersonaSettings(blind=False, threshold=0.0)).bids(
        ada=bid_to_speak(0), bob=bid_to_speak(0)
    ).asked == ["1.speech.ada"]


def test_a_quiet_end_names_the_seats_that_were_lost() -> None:
    """P-14, P-18"""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.").bids(ada=bid_silence(0.1), bob=None)
    assert table.last == TalkEnded(turn=2, reason="quiet")


def test_a_lost_seat_before_anyone_has_spoken_is_asked_once_more() -> None:
    """P-9, P-14: the silence of a seat that was never heard is no agreement."""
    table = MeetingRun(ADA, BOB).bids(ada=bid_silence(0.1), bob=None)
    assert table.last == TurnPassed(turn=1)
    again = table.bids(ada=bid_silence(0.1), bob=None).last
    assert again == TalkEnded(turn=2, reason="nobody_spoke")


def test_a_turn_in_which_every_seat_was_lost_is_never_taken_for_agreement() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB).bids(ada=None, bob=None)
    assert table.last == TurnPassed(turn=1)
    assert _ended(table.bids(ada=None, bob=None)) == "seats_lost"


def test_two_quiet_seats_of_five_are_not_half_of_them() -> None:
    """P-14: the silence of the few who were reached ends the talk as a loss, not as agreement."""
    table = MeetingRun(*map(build_seat, ("ada", "bob", "cy", "dee", "eve"))).turn("ada", "Yes.")
    bids = {"ada": bid_silence(0.1), "bob": bid_silence(0.1), "cy": None, "dee": None, "eve": None}
    assert _ended(table.bids(**bids).bids(**bids)) == "seats_lost"


@pytest.mark.parametrize("stance", sorted(DECIDERS))
def test_the_decider_can_find_that_enough_was_said(stance: str) -> None:
    """P-14"""
    table = MeetingRun(ADA, build_seat("dee", stance=f" {stance.upper()} ")).turn("ada", "Yes.")
    assert "sufficient" in table.brief("dee").own
    assert "sufficient" not in table.brief("ada").own
    assert (
        _ended(table.bids(ada=bid_to_speak(1.0), dee=bid_silence(0.5, sufficient=True)))
        == "sufficient"
    )


def test_only_the_decider_can_find_that_enough_was_said() -> None:
    """P-14"""
    table = MeetingRun(ADA, build_seat("dee", stance="decider")).turn("ada", "Yes.")
    assert table.bids(ada=bid_silence(0.5, sufficient=True), dee=bid_to_speak(0.5)).asked == [
        "2.speech.dee"
    ]


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
    table.bids(ada=bid_silence(0.5), bob=bid_to_speak(0.9), dee=bid_to_speak(0.5)).lose(
        "speech", "bob"
    )
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
    effects = RULES.decide(replace(table.state, turn=MAX_TURNS + 1))
    assert [getattr(effect, "fact", None) for effect in effects] == [
        TalkEnded(turn=MAX_TURNS + 1, reason="turns")
    ]


@pytest.mark.parametrize("budget", ["tokens", "money", "time"])
@pytest.mark.parametrize("phase", ["blind", "intents", "speech"])
def test_the_talk_ends_at_a_budget_whatever_it_was_doing(phase: str, budget: BudgetKind) -> None:
    """P-14"""
    table = _at(phase).put(BudgetExhausted(budget=budget, spent=9, limit=9))
    assert _ended(table) == budget
    assert table.asked == ["1.draft.ada"]


def test_the_talk_ends_when_nobody_speaks_in_two_turns() -> None:
    """P-14"""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
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
        table.bids(ada=bid_to_speak(0.9), bob=bid_to_speak(0.8)).lose("speech", "ada").lose(
            "speech", "bob"
        )
    assert _ended(table) == "seats_lost"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda: quiet(MeetingRun(ADA, BOB).turn("ada", "Yes.")), "quiet"),
        (lambda: quiet(MeetingRun(ADA, BOB)), "nobody_spoke"),
        (lambda: MeetingRun(ADA, BOB, budget=Budget(turns=1)).turn("ada", "Yes."), "turns"),
        (
            lambda: MeetingRun(ADA, BOB).put(BudgetExhausted(budget="money", spent=9, limit=9)),
            "money",
        ),
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
    assert (build_decision(table.timeline).status, build_decision(table.timeline).ended_by) == (
        "cancelled",
        "cancelled",
    )


# P-15


def test_the_decider_writes_the_conclusion() -> None:
    """P-15"""
    table = quiet(MeetingRun(build_seat("ada", weight=9), build_seat("dee", stance="Decider")))
    assert table.asks == (
        Ask(id=AskId("1.draft.dee"), seat=SeatId("dee"), kind="draft", turn=1, patience=180.0),
    )


def test_a_configured_summarizer_writes_in_the_deciders_place() -> None:
    """P-15"""
    settings = PersonaSettings(blind=False, summarizer=SeatId("ada"))
    assert quiet(MeetingRun(ADA, build_seat("dee", stance="decider"), settings=settings)).asked == [
        "1.draft.ada"
    ]


def test_the_pen_goes_on_from_the_decider_by_weight_then_by_seat() -> None:
    """P-15"""
    table = quiet(
        MeetingRun(
            ADA, BOB, build_seat("cy", weight=2), build_seat("dee", stance="decider", weight=0.1)
        )
    )
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
        reason="nobody_spoke",
        author=None,
        support=None,
        turnout=0.0,
        positions=(),
        lost=(
            LostSeat(
                seat=SeatId("ada"), times=1, last="error", weight_share=0.5, did_not_vote=True
            ),
            LostSeat(
                seat=SeatId("bob"), times=1, last="timeout", weight_share=0.5, did_not_vote=True
            ),
        ),
        outcome_uncertain=True,
    )
    found = build_decision(table.timeline)
    assert (found.status, found.decision, found.author, found.confidence) == (
        "concluded",
        None,
        None,
        None,
    )


def test_an_entry_that_does_not_exist_is_not_shown_even_if_it_was_recorded() -> None:
    """P-15"""
    table = (
        quiet(MeetingRun(ADA, BOB))
        .drafts("ada", build_draft("x", 9, 1, 1))
        .stands(bob=build_stand("support"))
    )
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
        ada=build_stand("oppose", 0.5),
        cy=build_stand("conditional", 1.0),
        di=build_stand("abstain"),
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.positions == (
        WeighedStand(seat=SeatId("ada"), verdict="oppose", weight=0.5),
        WeighedStand(seat=SeatId("bob"), verdict="support", weight=1.125),
        WeighedStand(seat=SeatId("cy"), verdict="conditional", weight=1.0),
        WeighedStand(seat=SeatId("di"), verdict="abstain", weight=0.5),
    )
    assert table.last.support == pytest.approx(2.125 / 2.625)
    assert table.last.turnout == pytest.approx(6 / 7)
    assert (table.last.author, table.last.outcome_uncertain, table.last.lost) == ("bob", False, ())


def test_dissent_is_told_with_who_holds_it() -> None:
    """P-15"""
    said = replace(
        build_draft("Cut.", 1), dissent=(DraftClaim(text="cy doubts it", entries=(1, 99)),)
    )
    table = quiet(MeetingRun(ADA, BOB, CY)).drafts("ada", said)
    table.stands(
        bob=build_stand("oppose", 1.0, "Never."),
        cy=build_stand("conditional", 1.0, "Well.", condition="If needed."),
    )
    decision = build_decision(table.timeline)
    assert [(voice.seat, voice.kind, voice.text, voice.entries) for voice in decision.dissent] == [
        ("bob", "oppose", "Never.", ()),
        (None, "reported", "cy doubts it", (1,)),
    ]
    # D-12: a condition is an obligation, not dissent.
    assert [(each.seat, each.text, each.state) for each in decision.obligations] == [
        ("cy", "If needed.", "open")
    ]


def test_one_who_opposes_without_words_gives_no_reason_and_a_lost_seat_is_no_agreement() -> None:
    """P-15, P-18"""
    against = (
        quiet(MeetingRun(ADA, BOB, CY))
        .drafts("ada")
        .stands(bob=build_stand("oppose", 1.0, ""), cy=build_stand("support"))
    )
    assert "- **bob** (oppose): gives no reason" in render_markdown(
        build_persona_report(against.timeline)
    )
    lost = quiet(MeetingRun(ADA, BOB, CY)).drafts("ada").stands(bob=build_stand("support"), cy=None)
    assert "Nobody opposed it, but not all took a side. No side: cy." in render_markdown(
        build_persona_report(lost.timeline)
    )


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
    assert table.position("ada", "For.").position("bob", "Against.").asked == [
        "1.intent.ada",
        "1.intent.bob",
    ]


def test_a_blind_position_hears_nothing_of_the_others() -> None:
    """P-17"""
    table = MeetingRun(ADA, BOB, settings=BLIND)
    before = table.brief("bob")
    table.position("ada", "For, since the sky is green.").give_input("And the union?")
    after = table.brief("bob")
    added, _, own = after.own.partition("\n\n")
    assert (after.system, after.shared, own) == (before.system, before.shared, before.own)
    # The user is no seat: its words are for everybody at once.
    assert added.endswith("\n[#2]\n> And the union?")
    assert after.perception.memory.recent == ()
    assert "sky" not in after.shared + after.own + after.subject
    assert "ada" not in after.shared + after.own


def test_a_position_is_not_heard_in_the_talk_either() -> None:
    """P-17: positions are no timeline entries."""
    table = (
        MeetingRun(ADA, BOB, settings=BLIND)
        .position("ada", "The sky is green.")
        .position("bob", "Against.")
    )
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
    table.stands(
        bob=build_stand("support", 0.7, "For, after all.", moved_by=2),
        cy=build_stand("abstain", 0.0, "", moved_by=99),
    )
    moved = [
        (
            found.seat,
            found.before,
            found.confidence_before,
            found.after,
            found.verdict,
            found.confidence_after,
            found.moved_by,
        )
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
    assert MeetingRun(opened=build_opening(ADA, settings=PersonaSettings(blind=True))).asked == [
        "1.position.ada"
    ]
    assert (
        MeetingRun(ADA, BOB, CY, settings=PersonaSettings(blind=False)).asked[0] == "1.intent.ada"
    )


# P-18


def test_lost_seats_are_part_of_the_conclusion() -> None:
    """P-18"""
    table = (
        MeetingRun(build_seat("ada", weight=3), BOB, CY)
        .bids(ada=bid_to_speak(0.9), bob=None, cy=bid_silence(0.1))
        .speaks("ada", "Yes.")
    )
    table.bids(ada=bid_silence(0.1), bob=None, cy=bid_silence(0.1)).drafts("ada").stands(
        cy=build_stand("support")
    ).lose("stand", "bob", "refused")
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.lost == (
        LostSeat(seat=SeatId("bob"), times=3, last="refused", weight_share=0.2, did_not_vote=True),
    )
    assert table.last.turnout == pytest.approx(0.8)


def test_who_failed_once_and_had_its_last_word_is_not_counted_as_missing() -> None:
    """P-18"""
    table = (
        MeetingRun(ADA, BOB)
        .turn("ada", "Yes.")
        .bids(ada=bid_silence(0.1), bob=None)
        .drafts("ada")
        .stands(bob=build_stand("support"))
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.lost == (
        LostSeat(seat=SeatId("bob"), times=1, last="timeout", weight_share=0.5, did_not_vote=False),
    )
    assert not table.last.outcome_uncertain


@pytest.mark.parametrize(("missing", "could"), [(0.99, False), (1.0, True), (1.01, True)])
def test_the_outcome_could_differ_when_the_missing_weight_reaches_the_margin(
    missing: float, could: bool
) -> None:
    """P-18: at the boundary the lost seat would have made a tie."""
    table = (
        quiet(
            MeetingRun(
                build_seat("ada", stance="decider", trust=1.0),
                build_seat("bob", trust=1.0, weight=missing),
            )
        )
        .drafts("ada")
        .stands(bob=None)
    )
    assert isinstance(table.last, MeetingConcluded)
    assert table.last.outcome_uncertain is could
    assert build_decision(table.timeline).outcome_uncertain is could


def test_a_lost_seat_that_nobody_trusts_could_not_have_changed_the_outcome() -> None:
    """P-18"""
    table = (
        quiet(
            MeetingRun(
                build_seat("ada", stance="decider", weight=0.1),
                build_seat("bob", weight=9, trust=0.0),
            )
        )
        .drafts("ada")
        .stands(bob=None)
    )
    assert isinstance(table.last, MeetingConcluded)
    assert not table.last.outcome_uncertain


def test_a_fork_gives_a_seat_to_another_platform_from_there_on() -> None:
    """P-2: the timeline names the platform that spoke."""
    table = MeetingRun(ADA, BOB).turn("ada", "Yes.")
    swaps = (Swap(seat=SeatId("ada"), platform="openai:x"), Swap(seat=SeatId("eve"), platform="x"))
    table.put(SessionForked(source=SessionId("think_1"), entry=3, swaps=swaps)).turn(
        "ada", "Again."
    )
    assert [line.platform for line in table.timeline.lines] == ["", "script:ada", "openai:x"]


def test_what_was_spent_is_added_up_seat_by_seat() -> None:
    """P-14"""
    usage = Usage(tokens_in=10, tokens_out=2, cost=5, calls=1)
    table = MeetingRun(ADA, BOB).bid("ada", bid_to_speak(0.9), usage)
    table.put(
        SeatLost(ask=AskId("1.intent.bob"), seat=SeatId("bob"), reason="malformed", usage=usage)
    )
    timeline = table.speaks("ada", "Yes.", usage=usage).timeline
    assert (timeline.spent.tokens, timeline.spent.cost, timeline.spent.calls) == (36, 15, 3)
    assert {name: spent.tokens for name, spent in timeline.spent_by_seat.items()} == {
        "ada": 24,
        "bob": 12,
    }
    assert timedelta(seconds=timeline.spent.seconds) == timeline.last_at - timeline.opened_at


@pytest.mark.parametrize(
    ("given", "verdict", "condition"),
    [
        ({"verdict": "support", "condition": "The tests pass."}, "conditional", "The tests pass."),
        ({"verdict": "support", "condition": "no conditions"}, "support", ""),
        ({"verdict": "conditional", "condition": "none"}, "conditional", ""),
    ],
)
def test_what_must_hold_is_a_condition_and_none_is_not(
    given: dict[str, str], verdict: str, condition: str
) -> None:
    """M-2, D-22: an obligation is what was stated, no less and no more."""
    table = quiet(MeetingRun(ADA, BOB, CY)).drafts("ada", build_draft("Cut."))
    said = read_answer(table.brief("bob"), given).said
    assert isinstance(said, Stand)
    assert (said.verdict, said.condition) == (verdict, condition)


def test_of_too_many_points_an_agreed_one_goes_before_an_older_one_that_is_open() -> None:
    """P-9: what is still to be settled stays in sight longest."""
    points = tuple(
        DiscussionPoint(entry=number, speaker=SeatId("ada"), claim=f"{number}")
        for number in range(1, MAX_POINTS + 1)
    )
    for seat in ("bob", "eve"):
        points = apply_view(points, 5, SeatId(seat), "agree")
    grown = add_point(points, MAX_POINTS + 1, SeatId("ada"), "new", seats=3)
    assert [each.entry for each in grown] == [
        number for number in range(1, MAX_POINTS + 2) if number != 5
    ]
