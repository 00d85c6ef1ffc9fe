"""The stored form of facts, and the chain that holds them together."""

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.unit.swarm_samples import SWARM_SAMPLES

from moothall.app.protocols import collect_kinds
from moothall.codec.chain import (
    compute_record_hash,
    compute_root_hash,
    decode_entry,
    find_chain_fault,
    seal,
    to_datetime,
    to_microseconds,
    validate_chain,
)
from moothall.codec.export import parse_export
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget, Usage
from moothall.domain.consult import ConsultRequest, ConsultRules
from moothall.domain.facts import (
    AsksPut,
    AsksWithdrawn,
    BudgetExhausted,
    CloseCalled,
    Entry,
    Fact,
    FamilyStated,
    InputGiven,
    Origin,
    Reply,
    SeatLost,
    SeatsSwapped,
    SessionCancelled,
    SessionForked,
    SessionImported,
    SessionParked,
    SessionResumed,
)
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.records import StoredRecord
from moothall.domain.roster import Seat, Swap
from moothall.domain.topic import ContextFile, ErrorCorrelation, Precedent, Topic
from moothall.errors import BadImport, LedgerDamaged, LedgerNewer
from moothall.protocols.consultation import facts as consultation
from moothall.protocols.council import facts as council
from moothall.protocols.council.advisory import AdvisoryOpened, AdvisorySettings
from moothall.protocols.council.consensus import ConsensusOpened, ConsensusSettings
from moothall.protocols.council.debate import DebateOpened
from moothall.protocols.persona.facts import (
    BidsDeclared,
    ConclusionDrafted,
    Draft,
    DraftClaim,
    FloorGiven,
    ImportedTurn,
    ImportedView,
    InputReply,
    Intent,
    IntentDeclared,
    JointBids,
    MeetingConcluded,
    MeetingOpened,
    NamedIntent,
    PersonaLostSeat,
    PersonaSettings,
    PersonaSpeech,
    Position,
    PositionTaken,
    Stand,
    StandTaken,
    TalkEnded,
    TurnPassed,
    TurnTaken,
    WeighedStand,
)
from moothall.protocols.pipeline import facts as pipeline
from moothall.protocols.roundtable import facts as roundtable
from moothall.protocols.swarm.facts import SwarmOpened

GOLDEN = Path(__file__).parent / "golden" / "facts_v1.jsonl"
CODEC = FactCodec(collect_kinds())
ADA, BOB = SeatId("ada"), SeatId("鲍勃")
ASK = AskId("2.speech.ada")
USAGE = Usage(tokens_in=120, tokens_out=34, cost=1_500, calls=1)
AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
SUBJECT = Topic(
    category="architecture",
    stakes="high",
    tags=("storage", "成本"),
    options=("Rewrite it", "Leave it"),
    thread="rewrite",
    built_on=("think_20250101_001",),
    bonds=(ErrorCorrelation(one=ADA, other=BOB, correlation=0.1 + 0.2),),
)
SEATS = (Seat(id=ADA, platform="mailbox"), Seat(id=BOB, platform="human"))
OPENING: dict[str, Any] = {
    "topic": "Shall we rewrite it?",
    "language": "zh",
    "seed": 7,
    "seats": SEATS,
    "budget": Budget(tokens=40_000),
    "outside_patience": 3_600.0,
    "origin": Origin(form="context", session="think_20250101_001"),
    "subject": SUBJECT,
    "hosted": True,
}
CONSULT = ConsultRules(folder="/项目", token="5f2c", per_seat=2, per_session=9, gate=True, patience=30.5)
REQUEST = ConsultRequest(to="鲍勃", question="多少钱？", background="不确定。", understanding="五元？", kind="confirmation")
HELD: dict[str, Any] = {"blind": False, "early_stop": True, "order": "round_robin", "patience": 45.5}

OWN_SAMPLES: tuple[Fact, ...] = (
    AsksPut(asks=(AskId("1.position.ada"), AskId("1.position.鲍勃")), deadline=AT, outside=True),
    AsksPut(asks=()),
    SeatLost(ask=ASK, seat=ADA, reason="timeout", detail='it said "no"\n\tand left \\', usage=USAGE),
    SeatLost(ask=ASK, seat=ADA, reason="gave_up"),
    AsksWithdrawn(asks=(ASK,)),
    InputGiven(text="先问价格。\u2028👩‍👧", key="k-1"),
    InputGiven(text=""),
    BudgetExhausted(budget="money", spent="0.51 of 0.50 USD"),
    SessionResumed(),
    SessionForked(source=SessionId("think_20260101_001"), at=7, swaps=(Swap(seat=ADA, platform="human"),)),
    SessionForked(source=SessionId("one"), at=1),
    SessionCancelled(reason="out of time"),
    SessionCancelled(),
    SessionImported(conclusion='{"decision":"yes"}'),
    MeetingOpened(
        topic="Shall we rewrite it?",
        language="zh",
        seed=18_446_744_073_709_551_615,
        seats=(
            Seat(id=ADA, platform="openai:gpt", stance="for", weight=2.5, instructions="Count.", trust=0.75, patience=30.0),
            Seat(id=BOB, platform="human"),
        ),
        budget=Budget(turns=12, tokens=40_000, money=500_000, seconds=90.5),
        outside_patience=3_600.0,
        origin=Origin(form="context", session="think_20250101_001"),
        settings=PersonaSettings(
            window=9, threshold=0.45, blind=False, summarizer=ADA, intent_patience=20.0, speech_patience=45.5
        ),
        imported=(
            ImportedTurn(
                timestamp="2025-01-01T00:00:00Z",
                speaker=ADA,
                content="Yes.",
                platform="gemini",
                type="speech",
                relevance_score=0.125,
                refers_to=1,
            ),
            ImportedTurn(timestamp="", speaker=BOB, content=""),
        ),
        views=(ImportedView(entry=1, seat=BOB, view="contest"),),
    ),
    MeetingOpened(topic="?", language="en", seed=0, seats=(Seat(id=ADA, platform="script"),)),
    PositionTaken(ask=AskId("1.position.ada"), seat=ADA, said=Position(position="Yes.", confidence=0.8), usage=USAGE),
    IntentDeclared(
        ask=AskId("2.intent.ada"),
        seat=ADA,
        said=Intent(reaction_score=0.9, intent_to_speak=True, reason="costs", view="agree", sufficient=True),
        usage=USAGE,
    ),
    IntentDeclared(ask=AskId("2.intent.ada"), seat=ADA, said=Intent(reaction_score=0.0, intent_to_speak=False)),
    FloorGiven(turn=2, seat=ADA, score=0.1 + 0.2, reason="longest_silent", lost=(BOB,)),
    FloorGiven(turn=1, seat=ADA, score=1.0, reason="only_one"),
    TurnPassed(turn=3, lost=(ADA, BOB)),
    TurnPassed(turn=4),
    TurnTaken(
        ask=ASK, seat=ADA, said=PersonaSpeech(content="No.\n不。", refers_to=3, view="contest"), usage=replace(USAGE, cost=None)
    ),
    TurnTaken(ask=ASK, seat=ADA, said=PersonaSpeech(content="No.")),
    TalkEnded(turn=5, reason="quiet", lost=(BOB,)),
    TalkEnded(turn=1, reason="seats_lost"),
    ConclusionDrafted(
        ask=AskId("6.draft.ada"),
        seat=ADA,
        said=Draft(
            decision=DraftClaim(text="Rewrite it.", entries=(1, 4)),
            confidence=1e-7,
            reasons=(DraftClaim(text="It is cheaper.", entries=(2,)), DraftClaim(text="It is time.")),
            dissent=(DraftClaim(text="Risk.", entries=(3,)),),
            open_questions=(DraftClaim(text="Who pays?"),),
        ),
        usage=USAGE,
    ),
    ConclusionDrafted(ask=AskId("6.draft.ada"), seat=ADA, said=Draft(decision=DraftClaim(text="No."), confidence=0.5)),
    StandTaken(
        ask=AskId("6.stand.鲍勃"),
        seat=BOB,
        said=Stand(verdict="conditional", confidence=0.25, position="Maybe.", condition="If it is small.", moved_by=4),
        usage=USAGE,
    ),
    StandTaken(ask=AskId("6.stand.鲍勃"), seat=BOB, said=Stand(verdict="abstain", confidence=0.0)),
    MeetingConcluded(
        reason="sufficient",
        author=ADA,
        support=2 / 3,
        turnout=0.75,
        positions=(WeighedStand(seat=ADA, verdict="support", weight=1.5), WeighedStand(seat=BOB, verdict="oppose", weight=0.75)),
        lost=(PersonaLostSeat(seat=BOB, times=2, last="malformed", weight_share=0.25, voiceless=True),),
        could_differ=True,
    ),
    MeetingConcluded(reason="turns", author=None, support=None, turnout=0.0, positions=()),
    CloseCalled(by="emerson"),
    CloseCalled(),
    MeetingOpened(topic="?", language="en", seed=0, seats=SEATS, subject=SUBJECT, hosted=True),
    PositionTaken(ask=AskId("1.position.ada"), seat=ADA, said=Position(position="Yes.", confidence=0.8), key="k-2"),
    IntentDeclared(ask=ASK, seat=ADA, said=Intent(reaction_score=0.0, intent_to_speak=False), key="k-3"),
    TurnTaken(ask=ASK, seat=ADA, said=PersonaSpeech(content="No."), key="k-4"),
    ConclusionDrafted(ask=ASK, seat=ADA, said=Draft(decision=DraftClaim(text="No."), confidence=0.5), key="k-5"),
    StandTaken(ask=ASK, seat=BOB, said=Stand(verdict="abstain", confidence=0.0), key="鑰"),
    DebateOpened(**OPENING, settings=council.CouncilSettings(**HELD, rounds=2)),
    DebateOpened(topic="?", language="en", seed=0, seats=SEATS),
    AdvisoryOpened(**OPENING, settings=AdvisorySettings(**HELD, rounds=2, owner=BOB)),
    AdvisoryOpened(topic="?", language="en", seed=0, seats=SEATS),
    ConsensusOpened(**OPENING, settings=ConsensusSettings(**HELD, rounds=1, threshold=0.75)),
    ConsensusOpened(topic="?", language="en", seed=0, seats=SEATS),
    council.Contributed(
        ask=AskId("3.free.鲍勃"),
        seat=BOB,
        said=council.Contribution(
            type="synthesize",
            text="Rewrite the core.\n只改核心。",
            confidence=0.82,
            choice="core first",
            refers_to=4,
            evidence=("81 % of the faults", "MIT"),
            answers=(5,),
            accepts=(6, 7),
            moved_by=8,
            taken=(
                council.AdviceResponse(entry=5, how="partly", why="It is dear."),
                council.AdviceResponse(entry=6, how="declined"),
            ),
        ),
        usage=USAGE,
        key="k-6",
    ),
    council.Contributed(
        ask=AskId("4.vote.ada"),
        seat=ADA,
        said=council.Contribution(type="vote", position="conditional_support", confidence=0.7, condition="After a pilot."),
    ),
    council.Contributed(ask=AskId("1.propose.ada"), seat=ADA, said=council.Contribution(type="pass")),
    council.PhaseBegun(round=2, phase="vote", passed=(ADA,), lost=(BOB,), motion=5),
    council.PhaseBegun(round=1, phase="argue"),
    council.DeliberationClosed(
        reason="voted",
        consensus_type="convergent",
        carried=True,
        motion=5,
        confidence=0.1 + 0.7,
        support=2 / 3,
        turnout=0.75,
        heads=2,
        effective=1.6,
        ballots=(
            council.CouncilBallot(seat=ADA, position="conditional_support", confidence=0.7, weight=0.35),
            council.CouncilBallot(seat=BOB, position=None, confidence=0.0, weight=0.0),
        ),
        could_differ=True,
        open_challenges=(4, 6),
        overturned=True,
        lost=(council.CouncilLostSeat(seat=BOB, times=2, last="malformed", weight_share=0.25),),
    ),
    council.DeliberationClosed(
        reason="nothing_proposed",
        consensus_type="no_consensus",
        carried=False,
        motion=None,
        confidence=None,
        support=None,
        turnout=0.0,
        heads=0,
        effective=0.0,
    ),
    roundtable.ConferenceOpened(
        topic="缓存？",
        language="zh",
        seed=7,
        seats=(Seat(id=ADA, platform="command:codex"), Seat(id=SeatId("moderator"), platform="mailbox")),
        budget=Budget(tokens=9),
        outside_patience=60.0,
        origin=Origin(form="context", session="one"),
        subject=Topic(category="ops"),
        hosted=True,
        settings=roundtable.RoundtableSettings(
            max_rounds=5, conference="缓存", agenda="背景。", prompt="请开场。", patience=90.0
        ),
    ),
    roundtable.SpeechGiven(
        ask=AskId("1.speech.ada"),
        seat=ADA,
        said=roundtable.RoundtableSpeech(content="## 立场\n用。", prompt="请回应。", consensus=True),
        usage=USAGE,
        key="k",
    ),
    roundtable.SpeakerSkipped(round=2, seat=BOB, reason="timeout"),
    roundtable.TalkConcluded(round=3, reason="rounds"),
    roundtable.MinutesWritten(
        ask=AskId("9.minutes.moderator"),
        seat=SeatId("moderator"),
        said=roundtable.Minutes(content="## 最终共识\n用。"),
        usage=USAGE,
        key="m",
    ),
    roundtable.ConferenceClosed(reason="consensus", author=SeatId("moderator"), skipped=(BOB,)),
    *(
        opening(topic="?", language="en", seed=1, seats=SEATS, consult=CONSULT)
        for opening in (MeetingOpened, DebateOpened, AdvisoryOpened, ConsensusOpened, roundtable.ConferenceOpened)
    ),
    consultation.ConsultationRequested(ask=ASK, seat=ADA, said=REQUEST, usage=USAGE, key="k"),
    consultation.ConsultationRefused(ask=ASK, seat=ADA, to="nobody", reason="unknown", request=REQUEST),
    consultation.ConsultationBegun(consultation=2, ask=ASK, seat=ADA, to=BOB, request=REQUEST),
    consultation.ConsultationAnswered(
        ask=AskId("2.consult.鲍勃"),
        seat=BOB,
        said=consultation.Advice(answer="我不知道。", notes="见附录。", unsure_of="成本。", ask_instead="ada", known="unknown"),
        usage=USAGE,
        key="k",
    ),
    consultation.ConsultationFailed(consultation=2, reason="withdrawn"),
    consultation.ConsultationInsisted(ask=ASK, seat=ADA),
    consultation.ConsultationFiled(
        ask=AskId("2.record.@director"),
        seat=SeatId("@director"),
        said=consultation.RecordLocation(number=7, path="docs/consultation/7_ada_鲍勃.md"),
        usage=USAGE,
        key="k",
    ),
    consultation.QuestionOpened(**OPENING, consult=CONSULT, asker=ADA, request=REQUEST),
    consultation.QuestionAnswered(
        ask=AskId("1.question.ada"), seat=ADA, said=consultation.AskerConclusion(content="So be it."), usage=USAGE, key="k"
    ),
    consultation.QuestionClosed(outcome="unknown"),
    pipeline.PipelineOpened(
        **OPENING,
        consult=CONSULT,
        settings=pipeline.PipelineSettings(
            steps=(
                pipeline.Step(name="model", agent="ada", task="建模。"),
                pipeline.Step(
                    name="check",
                    agent="鲍勃",
                    task="Check it.",
                    uses=("model",),
                    gate=True,
                    on_reject="consult",
                    back_to="model",
                    most=3,
                ),
            ),
            patience=90.0,
        ),
    ),
    pipeline.WorkDone(ask=AskId("1.work.ada"), seat=ADA, said=pipeline.Artefact(content="y = x"), usage=USAGE, key="k"),
    pipeline.VerdictGiven(
        ask=AskId("2.validate.鲍勃"),
        seat=BOB,
        said=pipeline.GateVerdict(verdict="REJECTED", content="不成立。"),
        usage=USAGE,
        key="k",
    ),
    pipeline.StepRejected(step="check", times=1, then="back", to="model"),
    pipeline.PipelineClosed(outcome="failed", step="model", agent=ADA),
    *SWARM_SAMPLES,
    SwarmOpened(topic="?", language="en", seed=1, seats=SEATS, consult=CONSULT),
)
PERSONA_SAMPLES: tuple[Fact, ...] = (
    MeetingOpened(
        topic="?",
        language="en",
        seed=0,
        seats=SEATS,
        settings=PersonaSettings(ageing=0.1, bids="together"),
        imported=(ImportedTurn(timestamp="", speaker=BOB, content="No.", unaware_of=1),),
    ),
    PositionTaken(ask=AskId("1.position.ada"), seat=ADA, said=Position(position="Yes.")),
    BidsDeclared(
        ask=AskId("2.bids.ada"),
        seat=ADA,
        said=JointBids(
            bids=(
                NamedIntent(
                    node_id="ada", reaction_score=0.9, intent_to_speak=True, reason="costs", view="agree", sufficient=True
                ),
                NamedIntent(node_id="鲍勃", reaction_score=0.0, intent_to_speak=False),
            )
        ),
        usage=USAGE,
        key="k",
        mends=("left_out bids 'eve'",),
        via="token:t1",
        model="m-1",
    ),
    FloorGiven(turn=2, seat=ADA, score=0.75, reason="waited", waited=3),
    TalkEnded(turn=1, reason="nobody_spoke"),
    ConclusionDrafted(
        ask=AskId("6.draft.ada"),
        seat=ADA,
        said=Draft(
            decision=DraftClaim(text="No."),
            answers=(InputReply(input=3, text="R&D stays.", entries=(2, 3)), InputReply(input=5, text="Later.")),
        ),
    ),
    StandTaken(ask=AskId("6.stand.鲍勃"), seat=BOB, said=Stand(verdict="oppose")),
    MeetingConcluded(
        reason="nobody_spoke", author=ADA, support=0.25, turnout=1.0, positions=(), overruled=True, unanswered=(3, 5)
    ),
)
# Added to every answer since: what was mended, the door, the model. One sample per kind of answer.
_ANSWERS = {type(sample): sample for sample in OWN_SAMPLES if isinstance(sample, Reply)}
# Later fields of the shapes inside a fact: one sample with each.
_LATER: tuple[Fact, ...] = (
    replace(
        next(sample for sample in OWN_SAMPLES if isinstance(sample, council.DeliberationClosed) and sample.ballots),
        ballots=(council.CouncilBallot(seat=ADA, position="support", confidence=0.8, weight=0.4, stated=False),),
    ),
)
_PANEL: dict[str, Any] = {"rebuttal": False, "panel": "adaptive", "panel_order": "trust"}
_BALLOT = council.CandidateVote(
    candidate=5, position="conditional_support", condition="After a pilot.", confidence=0.7, due="May"
)
# Deliberations whose votes choose among candidates.
BALLOT_SAMPLES: tuple[Fact, ...] = (
    DebateOpened(
        **{**OPENING, "seats": (Seat(id=ADA, platform="mailbox", accuracy=0.7, family="gpt"), Seat(id=BOB, platform="human"))},
        settings=council.CouncilSettings(**HELD, **_PANEL),
    ),
    AdvisoryOpened(**OPENING, settings=AdvisorySettings(**HELD, **_PANEL)),
    ConsensusOpened(**OPENING, settings=ConsensusSettings(**HELD, **_PANEL, quorum=2)),
    council.Contributed(ask=ASK, seat=ADA, said=council.Contribution(type="vote", ballot=(_BALLOT,), due="June")),
    council.PhaseBegun(round=1, phase="answer"),
    council.PhaseBegun(round=1, phase="vote", candidates=(5, 6)),
    council.DeliberationClosed(
        reason="settled",
        consensus_type="contested",
        carried=True,
        motion=5,
        confidence=0.8,
        support=0.7,
        turnout=1.0,
        heads=2,
        effective=1.6,
        candidates=(council.CandidateTally(line=5, support=1.5, unconditional=0.5, oppose=0.25, confidence=0.75),),
        unasked=(BOB,),
    ),
)
SAMPLES: tuple[Fact, ...] = (
    *OWN_SAMPLES,
    *(replace(each, mends=("left out: refers_to 9",), via="token:t1", model="m-1") for each in _ANSWERS.values()),
    *_LATER,
    *PERSONA_SAMPLES,
    SessionParked(reason="ada: nothing answers", seats=(ADA,), usage=Usage(tokens_in=3, calls=1)),
    SessionParked(reason="", seats=()),
    SeatsSwapped(swaps=(Swap(seat=ADA, platform="mailbox"),)),
    SeatLost(ask=AskId("1.intent.ada"), seat=ADA, reason="unreachable", detail="no terminal"),
    roundtable.ConferenceOpened(topic="?", language="en", seed=1, seats=SEATS, returns_minutes=True),
    roundtable.MinutesReturned(seat=SeatId("moderator"), missing=("summary", "actions")),
    roundtable.ConferenceClosed(reason="rounds", author=SeatId("moderator"), missing=("actions",)),
    *BALLOT_SAMPLES,
    DebateOpened(
        topic="?",
        language="en",
        seed=1,
        seats=SEATS,
        subject=Topic(
            precedents=(
                Precedent(
                    decision="s1",
                    topic="Which database?",
                    decided="PostgreSQL",
                    date="2026-11-01",
                    outcome="failure",
                    lesson="too slow",
                    is_basis=True,
                ),
            )
        ),
    ),
    FamilyStated(seat=BOB, family="claude-opus-4", via="token:t1"),
    *(
        opening(topic="?", language="en", seed=1, seats=SEATS, demo="persona")
        for opening in (
            MeetingOpened,
            DebateOpened,
            AdvisoryOpened,
            ConsensusOpened,
            roundtable.ConferenceOpened,
            pipeline.PipelineOpened,
            SwarmOpened,
        )
    ),
    consultation.QuestionOpened(topic="?", language="en", seed=1, seats=SEATS, asker=ADA, request=REQUEST, demo="consultation"),
    DebateOpened(
        topic="?",
        language="en",
        seed=1,
        seats=SEATS,
        subject=Topic(context=(ContextFile(name="plan.md", text="# Plan"),)),
    ),
    PositionTaken(ask=AskId("1.position.ada"), seat=ADA, said=Position(position="Yes.", choice="PostgreSQL")),
    IntentDeclared(
        ask=AskId("1.intent.ada"), seat=ADA, said=Intent(reaction_score=0.9, intent_to_speak=True, choice="PostgreSQL")
    ),
    BidsDeclared(
        ask=AskId("1.bids.ada"),
        seat=ADA,
        said=JointBids(bids=(NamedIntent(node_id="ada", reaction_score=0.1, intent_to_speak=False, choice="缓存"),)),
    ),
    ConclusionDrafted(ask=AskId("6.draft.ada"), seat=ADA, said=Draft(decision=DraftClaim(text="Yes."), choice="PostgreSQL")),
    roundtable.SpeechGiven(ask=AskId("1.speech.ada"), seat=ADA, said=roundtable.RoundtableSpeech(content="是。", choice="是")),
    roundtable.MinutesWritten(
        ask=AskId("4.minutes.moderator"), seat=SeatId("moderator"), said=roundtable.Minutes(content="…", choice="是")
    ),
)


def kind_of(fact: Fact) -> str:
    return str(json.loads(CODEC.encode(fact))["fact"])


def set_fields(value: object) -> Iterator[tuple[type, str]]:
    """Every field, at any depth, that is not at its default."""
    if is_dataclass(value):
        for field in fields(value):
            held = getattr(value, field.name)
            if field.default is MISSING or held != field.default:
                yield type(value), field.name
                yield from set_fields(held)
    if isinstance(value, tuple):
        for each in value:
            yield from set_fields(each)


# Facts


def test_every_kind_has_a_sample() -> None:
    assert {kind_of(sample) for sample in SAMPLES} == set(CODEC.kinds)


def test_every_field_of_every_stored_shape_has_a_sample() -> None:
    held = {each for sample in SAMPLES for each in set_fields(sample)}
    shapes = {shape for shape, _ in held} | {type(sample) for sample in SAMPLES}
    assert {(shape, field.name) for shape in shapes for field in fields(shape)} - held == set()


@pytest.mark.parametrize("fact", SAMPLES, ids=kind_of)
def test_every_fact_survives_the_codec(fact: Fact) -> None:
    back = CODEC.decode(CODEC.encode(fact))
    assert back == fact
    assert type(back) is type(fact)


@pytest.mark.parametrize("fact", SAMPLES, ids=kind_of)
def test_the_stored_form_is_canonical(fact: Fact) -> None:
    body = CODEC.encode(fact)
    assert CODEC.encode(CODEC.decode(body)) == body


def test_stored_bytes_never_change() -> None:
    """Only ever add lines to the golden file: a fact that was stored must be read, and hashed, the same for ever."""
    assert b"".join(CODEC.encode(sample) + b"\n" for sample in SAMPLES) == GOLDEN.read_bytes()


def test_golden_facts_decode() -> None:
    assert tuple(CODEC.decode(line) for line in GOLDEN.read_bytes().splitlines()) == SAMPLES


def test_the_stored_form_is_one_object_in_the_order_of_declaration_without_defaults() -> None:
    fact = SeatLost(ask=ASK, seat=BOB, reason="error", usage=Usage(calls=1))
    stored = '{"fact":"seat_lost","ask":"2.speech.ada","seat":"鲍勃","reason":"error","usage":{"calls":1}}'
    assert CODEC.encode(fact) == stored.encode()


def test_a_deadline_in_another_time_zone_is_the_same_moment() -> None:
    fact = AsksPut(asks=(), deadline=AT.astimezone(timezone(timedelta(hours=8))))
    assert CODEC.decode(CODEC.encode(fact)) == AsksPut(asks=(), deadline=AT)


@given(st.text(), st.text())
def test_any_text_survives_the_codec(text: str, key: str) -> None:
    fact = InputGiven(text=text, key=key)
    body = CODEC.encode(fact)
    assert CODEC.decode(body) == fact
    assert CODEC.encode(CODEC.decode(body)) == body
    assert b"\n" not in body


@given(st.text(min_size=1), st.integers(min_value=1), st.floats(0, 1), st.integers(), st.lists(st.text(), max_size=4))
def test_any_value_within_a_nested_shape_survives_the_codec(
    text: str, entry: int, share: float, number: int, names: list[str]
) -> None:
    said = Draft(decision=DraftClaim(text=text, entries=(entry,)), confidence=share, reasons=(DraftClaim(text=text),))
    drafted = ConclusionDrafted(ask=ASK, seat=SeatId(text), said=said, usage=Usage(tokens_in=number, cost=number))
    floor = FloorGiven(turn=number, seat=ADA, score=share, reason="highest", lost=tuple(SeatId(name) for name in names))
    for fact in (drafted, floor):
        body = CODEC.encode(fact)
        assert CODEC.decode(body) == fact
        assert CODEC.encode(CODEC.decode(body)) == body


@pytest.mark.parametrize("patience", [float("inf"), float("nan"), 0.0, -1.0])
def test_an_endless_patience_is_no_setting(patience: float) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(PersonaSettings).validate_python({"intent_patience": patience})


# What cannot be read


@pytest.mark.parametrize(
    "body",
    [
        b'{"fact":"vote_cast","seat":"ada"}',
        b'{"fact":"persona.vote_cast"}',
        b'{"fact":"input_given","v":2,"text":"a"}',
        b'{"fact":"persona.turn_passed","v":99,"turn":"not what it was"}',
    ],
)
def test_an_unknown_kind_or_a_newer_version_is_of_a_newer_moot(body: bytes) -> None:
    with pytest.raises(LedgerNewer, match="upgrade Moot"):
        CODEC.decode(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"fact":"input_given","text":"a"',
        b"\xff\xfe",
        b"null",
        b"7",
        b'"input_given"',
        b"{}",
        b'{"v":1,"text":"a"}',
        b'{"fact":"input_given"}',
        b'{"fact":"input_given","text":7}',
        b'{"fact":"seat_lost","ask":"a","seat":"b","reason":"bored"}',
        b'{"fact":"persona.stand_taken","ask":"a","seat":"b","said":{"verdict":"support","confidence":2}}',
        b'{"fact":"persona.turn_taken","ask":"a","seat":"b","said":null}',
    ],
)
def test_what_is_no_stored_fact_is_damage(body: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        CODEC.decode(body)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'["fact"]',
        b'{"fact":[]}',
        b'{"fact":{}}',
        b'{"fact":null}',
        b'{"fact":"input_given","v":"1","text":"a"}',
        b'{"fact":"input_given","v":null,"text":"a"}',
        b'{"fact":"input_given","v":0,"text":"a"}',
        b'{"fact":"input_given","v":-1,"text":"a"}',
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_json_of_another_shape_is_damage(body: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        CODEC.decode(body)


@given(st.data())
def test_a_fact_cut_short_anywhere_is_damage(data: st.DataObject) -> None:
    body = CODEC.encode(data.draw(st.sampled_from(SAMPLES)))
    with pytest.raises(LedgerDamaged):
        CODEC.decode(body[: data.draw(st.integers(0, len(body) - 1))])


# Versions


def renamed(stored: dict[str, Any]) -> dict[str, Any]:
    return {"text": stored["words"], "key": stored.get("key", "")}


def shouted(stored: dict[str, Any]) -> dict[str, Any]:
    return {**stored, "text": stored["text"].upper()}


def test_an_upcast_brings_an_old_fact_up_to_date() -> None:
    codec = FactCodec({}, upcasts={("input_given", 1): renamed})
    assert codec.decode(b'{"fact":"input_given","words":"hear me","key":"k"}') == InputGiven(text="hear me", key="k")
    assert codec.encode(InputGiven(text="hear me")) == b'{"fact":"input_given","v":2,"text":"hear me"}'
    assert codec.decode(b'{"fact":"input_given","v":2,"text":"hear me"}') == InputGiven(text="hear me")


def test_upcasts_are_applied_one_after_the_other_from_the_stored_version_on() -> None:
    codec = FactCodec({}, upcasts={("input_given", 1): renamed, ("input_given", 2): shouted})
    assert codec.decode(b'{"fact":"input_given","words":"a"}') == InputGiven(text="A")
    assert codec.decode(b'{"fact":"input_given","v":2,"text":"a"}') == InputGiven(text="A")
    assert codec.decode(b'{"fact":"input_given","v":3,"text":"a"}') == InputGiven(text="a")
    with pytest.raises(LedgerNewer):
        codec.decode(b'{"fact":"input_given","v":4,"text":"a"}')


def test_an_upcast_of_one_kind_leaves_the_others_as_they_are() -> None:
    codec = FactCodec(collect_kinds(), upcasts={("input_given", 1): renamed})
    others = [sample for sample in SAMPLES if not isinstance(sample, InputGiven)]
    assert [codec.encode(sample) for sample in others] == [CODEC.encode(sample) for sample in others]


# The chain

ONE, TWO = SessionId("one"), SessionId("two")


def chain(session: SessionId, count: int = 5) -> list[StoredRecord]:
    records: list[StoredRecord] = []
    for seq in range(1, count + 1):
        before = records[-1].hash if records else compute_root_hash(session)
        records.append(seal(CODEC, before, seq, AT + timedelta(seconds=seq), InputGiven(text=f"word {seq}")))
    return records


MOMENTS = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))


@given(MOMENTS)
def test_a_moment_survives_to_the_microsecond(at: datetime) -> None:
    assert to_datetime(to_microseconds(at)) == at


def test_a_sealed_fact_opens_as_the_same_entry() -> None:
    fact = InputGiven(text="完")
    record = seal(CODEC, compute_root_hash(ONE), 1, AT, fact)
    body = CODEC.encode(fact)
    assert record == StoredRecord(
        1, 1_767_323_045_678_901, body, compute_record_hash(compute_root_hash(ONE), 1, 1_767_323_045_678_901, body)
    )
    assert decode_entry(CODEC, record) == Entry(seq=1, at=AT, fact=fact)


def test_the_hash_of_a_known_record_never_changes() -> None:
    assert compute_root_hash(ONE).hex() == "a6a70ff1ab67b8c4737a64d97f61a605ecee3671b36f8641e6c636d0508473a7"
    assert (
        compute_record_hash(compute_root_hash(ONE), 1, -1, b'{"fact":"session_resumed"}').hex()
        == "62b1700ab828e66647e6209fb27a4eb751fc436de7d08917dcbf4094600d5b20"
    )


HASHES = st.binary(min_size=32, max_size=32)
LINKED = st.tuples(HASHES, st.integers(1, 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=40))


@given(LINKED, LINKED, st.integers(0, 3))
def test_a_link_changes_with_any_of_its_fields(
    first: tuple[bytes, int, int, bytes], second: tuple[bytes, int, int, bytes], field: int
) -> None:
    mixed = list(first)
    mixed[field] = second[field]
    before, seq, at, body = mixed
    assert isinstance(before, bytes)
    assert isinstance(seq, int)
    assert isinstance(at, int)
    assert isinstance(body, bytes)
    assert (compute_record_hash(before, seq, at, body) == compute_record_hash(*first)) == ((before, seq, at, body) == first)


def test_a_whole_chain_is_not_broken() -> None:
    assert find_chain_fault(ONE, chain(ONE)) is None
    assert find_chain_fault(ONE, []) is None
    assert validate_chain(ONE, chain(ONE)) == chain(ONE)


def changed(seq: int) -> str:
    return f"entry {seq} was changed after it was written: its hash does not fit"


def test_the_first_broken_entry_is_named() -> None:
    whole = chain(ONE)
    first, second, third, fourth, fifth = whole
    reforged = third._replace(body=b"{}", hash=compute_record_hash(second.hash, 3, third.at, b"{}"))
    assert {
        "body": find_chain_fault(ONE, [first, second, third._replace(body=third.body + b" "), fourth, fifth]),
        "hash": find_chain_fault(ONE, [first, second, third._replace(hash=bytes(32)), fourth, fifth]),
        "time": find_chain_fault(ONE, [first, second, third._replace(at=third.at + 1), fourth, fifth]),
        "two": find_chain_fault(ONE, [first, second._replace(at=0), third, fourth._replace(at=0), fifth]),
        "reforged": find_chain_fault(ONE, [first, second, reforged, fourth, fifth]),
        "missing": find_chain_fault(ONE, [first, second, fourth, fifth]),
        "beheaded": find_chain_fault(ONE, whole[1:]),
        "twice": find_chain_fault(ONE, [first, second, second, third]),
        "swapped": find_chain_fault(ONE, [first, third, second, fourth, fifth]),
        "renumbered": find_chain_fault(ONE, [first, third._replace(seq=2), second._replace(seq=3), fourth, fifth]),
        "another's": find_chain_fault(TWO, whole),
        "spliced": find_chain_fault(ONE, [*whole[:2], *chain(TWO)[2:]]),
    } == {
        "body": changed(3),
        "hash": changed(3),
        "time": changed(3),
        "two": changed(2),
        "reforged": changed(4),
        "missing": "entry 3 is missing: 4 follows 2",
        "beheaded": "entry 1 is missing: 2 follows 0",
        "twice": "entry 3 is missing: 2 follows 2",
        "swapped": "entry 2 is missing: 3 follows 1",
        "renumbered": changed(2),
        "another's": changed(1),
        "spliced": changed(3),
    }


def test_a_broken_chain_is_refused_with_its_session_and_entry() -> None:
    records = chain(ONE)
    with pytest.raises(LedgerDamaged, match=r"session 'one': entry 2 is missing: 3 follows 1"):
        validate_chain(ONE, [records[0], *records[2:]])


@given(st.data())
def test_any_changed_byte_of_a_body_is_found(data: st.DataObject) -> None:
    records = chain(ONE, 4)
    index = data.draw(st.integers(0, 3))
    record = records[index]
    place = data.draw(st.integers(0, len(record.body) - 1))
    other = bytes([record.body[place] ^ data.draw(st.integers(1, 255))])
    records[index] = record._replace(body=record.body[:place] + other + record.body[place + 1 :])
    assert find_chain_fault(ONE, records) == changed(index + 1)


@pytest.mark.parametrize("at", [10**18, -(10**18), 2**70])
def test_an_export_with_a_time_beyond_the_calendar_is_refused(at: int) -> None:
    line = json.dumps({"seq": 1, "at": at, "hash": "00", "body": "{}"})
    with pytest.raises(BadImport, match="Moot export"):
        parse_export(f'{{"moot": 1, "session": "s"}}\n{line}\n')
