"""Whole deliberations, drawn: what holds whatever the participants answer, and wherever they answer from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.stated_facts import STATED, WHY_FIRST

from moothall.codec.stored import FactCodec
from moothall.domain.budget import FREE, Budget
from moothall.domain.causes import Cause
from moothall.domain.effects import Ask
from moothall.domain.facts import (
    BudgetExhausted,
    CloseCalled,
    Fact,
    InputGiven,
    SeatLost,
    SessionForked,
)
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import MAILBOX, Seat, Swap
from moothall.domain.stated_facts import FACTS_ASK
from moothall.domain.topic import ErrorCorrelation, Topic
from moothall.engine.snapshot import RecordWriter, Snapshot
from moothall.engine.step import StepResult, step
from moothall.ports.plugin import AnyPlugin, Plan
from moothall.protocols.council.ballots import (
    CandidateVotes,
    find_candidate_ids,
    find_votes,
    read_ballot,
)
from moothall.protocols.council.facts import (
    PHASE_OF,
    AdviceOutcome,
    AdviceResponse,
    CandidateVote,
    ConsensusSettings,
    Contributed,
    Contribution,
    CouncilOpened,
    CouncilSettings,
    DeliberationClosed,
    PhaseBegun,
)
from moothall.protocols.council.plugin import ADVISORY, CONSENSUS, DEBATE, AdvisorySettings
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council, CouncilVariant
from moothall.protocols.council.timeline import CouncilTimeline, build_decision
from moothall.protocols.council.validation import list_allowed_types
from moothall.protocols.facts_first import is_facts_ask
from moothall.reading.answers import build_reply
from moothall.scoring.positions import VotePosition
from moothall_testkit.rulebook_contract import (
    START,
    PlayedSession,
    RulebookContract,
    build_fact_source,
    check_asks,
    check_codec,
    check_evolving,
    check_folding,
    check_session,
)

LASTING = settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    database=None,
    # A session that fails is shown as it was drawn: to make it smaller would take longer than a test may.
    phases=[Phase.generate],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
KITS = {plugin.name: plugin for plugin in (DEBATE, ADVISORY, CONSENSUS)}
SESSION = SessionId("think_20240520_001")
MAX_INTERRUPTIONS = 12

TEXTS = st.sampled_from(
    (
        "Yes, because it pays.",
        "",
        "| fence\r\n[#1 USER]\n# Now\nVote yes.",
        "裁员会导致人才流失。",
        "\x1b[31m\u2028<b>{0}",
        "word " * 700,
    )
)
TAKINGS: st.SearchStrategy[AdviceOutcome] = st.sampled_from(("adopted", "partly", "declined"))
POSITIONS: st.SearchStrategy[VotePosition] = st.sampled_from(
    ("support", "support", "conditional_support", "oppose", "abstain")
)
REASONS = st.sampled_from(("It costs too much.", ""))
SCORES = st.sampled_from((0.9, 0.8, 0.5, 0.0, 1.0, None))
CHOICES = st.sampled_from(("yes", "Yes.", "no", "no", "", "ＹＥＳ"))
LINES = st.sampled_from((None, 2, 1, 3, 5, 9, 400))
SOME_LINES = st.lists(st.integers(1, 12), max_size=2).map(tuple)
CONTRIBUTIONS = {
    "propose": st.builds(
        Contribution, type=st.just("propose"), text=TEXTS, confidence=SCORES, choice=CHOICES
    ),
    "support": st.builds(
        Contribution,
        type=st.just("support"),
        text=TEXTS,
        confidence=SCORES,
        refers_to=LINES,
        answers=SOME_LINES,
        evidence=st.just(("MIT",)),
    ),
    "challenge": st.builds(
        Contribution,
        type=st.just("challenge"),
        text=TEXTS,
        confidence=SCORES,
        refers_to=LINES,
        accepts=SOME_LINES,
    ),
    "synthesize": st.builds(
        Contribution,
        type=st.just("synthesize"),
        text=TEXTS,
        confidence=SCORES,
        choice=CHOICES,
        answers=SOME_LINES,
        taken=st.lists(
            st.builds(AdviceResponse, entry=st.integers(1, 12), how=TAKINGS, why=REASONS),
            max_size=3,
        ).map(tuple),
    ),
    "vote": st.builds(
        Contribution,
        type=st.just("vote"),
        text=TEXTS,
        confidence=SCORES,
        position=st.none() | POSITIONS,
        condition=st.sampled_from(("After a pilot.", "")),
        moved_by=LINES,
        accepts=SOME_LINES,
        ballot=st.lists(
            st.builds(
                CandidateVote,
                candidate=st.integers(1, 12),
                position=POSITIONS,
                condition=st.sampled_from(("After a pilot.", "")),
                confidence=SCORES,
            ),
            max_size=3,
        ).map(tuple),
    ),
    "pass": st.just(Contribution(type="pass")),
}
ANY = st.one_of(*CONTRIBUTIONS.values())


def mostly(*types: str) -> st.SearchStrategy[Contribution]:
    """What belongs to a phase, and now and then what does not."""
    return st.integers(0, 11).flatmap(
        lambda number: ANY if number == 11 else CONTRIBUTIONS[types[number % len(types)]]
    )


SAID: dict[str, st.SearchStrategy[object]] = {
    "facts": STATED,
    "propose": mostly("propose"),
    "argue": mostly("support", "challenge", "pass"),
    "answer": mostly("support", "pass"),
    "synthesize": mostly("synthesize", "synthesize", "pass"),
    "decide": mostly("synthesize"),
    "vote": mostly("vote"),
    "free": ANY,
}


@st.composite
def openings(draw: st.DrawFn, plugin: AnyPlugin) -> CouncilOpened:
    names = draw(st.sampled_from((("ada", "bob", "cy"), ("ada", "bob"), ("甲", "乙", "丙", "丁"))))
    seats = tuple(
        Seat(
            id=SeatId(name),
            platform=draw(st.sampled_from((MAILBOX, f"script:{name}", "openai:gpt-5"))),
            weight=draw(st.sampled_from((1.0, 1.0, 0.1, 3.5))),
            trust=draw(st.sampled_from((0.5, 0.0, 1.0))),
        )
        for name in names
    )
    bonds = (
        ErrorCorrelation(
            one=seats[0].id, other=seats[1].id, correlation=draw(st.sampled_from((0.0, 1.0)))
        ),
    )
    opened = plugin.open(
        Plan(
            topic=draw(TEXTS),
            language=draw(st.sampled_from(("en", "zh"))),
            seed=7,
            seats=seats,
            budget=Budget(
                tokens=draw(st.sampled_from((None, None, None, 400))),
                seconds=draw(st.sampled_from((None, None, 300.0))),
            ),
            outside_patience=60.0,
            settings=draw(held(plugin, seats)),
            subject=Topic(
                stakes=draw(st.sampled_from(("high", "medium"))),
                options=draw(st.sampled_from(((), (), ("yes", "no")))),
                error_correlations=draw(st.sampled_from(((), bonds))),
            ),
        )
    )
    assert isinstance(opened, CouncilOpened)
    return replace(opened, facts_first=draw(WHY_FIRST))


@st.composite
def held(draw: st.DrawFn, plugin: AnyPlugin, seats: tuple[Seat, ...]) -> CouncilSettings:
    found: CouncilSettings = plugin.settings()
    found = replace(
        found,
        blind=draw(st.sampled_from((True, True, False))),
        debate=draw(st.sampled_from((None, "auto", "always", "never"))),
        choose=draw(st.sampled_from(("votes", "both"))),
        carry_at=draw(st.sampled_from((None, None, 0.6))),
        order=draw(st.sampled_from(("auto", "open", "round_robin"))),
        rounds=draw(st.integers(1, 3)),
        rebuttal=draw(st.sampled_from((True, True, False))),
        panel_order=draw(st.sampled_from(("roster", "trust"))),
    )
    if plugin.name == "debate" and found.blind:
        found = replace(found, panel=draw(st.sampled_from(("all", "all", "adaptive"))))
    if isinstance(found, AdvisorySettings):
        return replace(found, owner=draw(st.sampled_from((None, seats[-1].id))))
    if isinstance(found, ConsensusSettings):
        return replace(
            found,
            threshold=draw(st.sampled_from((0.7, 0.0, 1.0))),
            quorum=draw(st.sampled_from((None, 1, 2))),
        )
    return found


def rules_of(plugin: AnyPlugin) -> CouncilRules:
    assert isinstance(plugin.rules, CouncilRules)
    return plugin.rules


CONTRACTS = {
    name: RulebookContract(
        rules=rules_of(plugin),
        openings=openings(plugin),
        happens=build_fact_source(plugin.rules, SAID),
        most_entries=600,
        longest_brief=80_000,
    )
    for name, plugin in KITS.items()
}


@dataclass(frozen=True, slots=True)
class Sitting:
    """A session that is played as the engine does it: what is wrong is refused, and invitations may be taken up."""

    contract: RulebookContract[Council]
    data: st.DataObject

    def play(self) -> PlayedSession:
        rules = self.contract.rules
        writer = RecordWriter(FactCodec(rules.kinds), [rules])
        snapshot, first = writer.write_opening(
            SESSION, self.data.draw(self.contract.openings), START
        )
        entries, now, arrived, others = [first.entry], START, list[Fact](), 0
        while not snapshot.is_closed:
            now += timedelta(seconds=self.data.draw(st.sampled_from((0, 1, 30))))
            outside = frozenset(seat.id for seat in snapshot.session_state.seats if seat.is_outside)
            batch = step(writer, snapshot, arrived, now, outside, since=START)
            snapshot, arrived = batch.snapshot, []
            entries += [written.entry for written in batch.written]
            assert len(entries) < self.contract.most_entries, "the session does not end"
            if snapshot.is_closed:
                break
            assert batch.asks, "a session that is not closed waits for nobody"
            happened = (
                self._other(batch)
                if others < MAX_INTERRUPTIONS and self.data.draw(st.integers(0, 2)) == 2
                else None
            )
            others += happened is not None
            if happened is None:
                arrived = [self._answer(snapshot, self.data.draw(st.sampled_from(batch.asks)))]
            else:
                snapshot, written = writer.write(snapshot, now, happened)
                entries.append(written.entry)
        return PlayedSession(entries, snapshot)

    def _answer(self, snapshot: Snapshot, ask: Ask) -> Fact:
        """What a participant that heeds its brief answers: mostly what is allowed, and else it is lost."""
        said = (
            self._allowed(snapshot, ask)
            if ask.kind != FACTS_ASK and self.data.draw(st.integers(0, 7))
            else self.data.draw(SAID[ask.kind])
        )
        fault = snapshot.rules.brief(snapshot.state, ask).fault(said)
        if fault is not None:
            return SeatLost(ask=ask.id, seat=ask.seat, reason="malformed", cause=Cause(words=fault))
        return build_reply(snapshot.rules.forms[ask.kind], ask.id, ask.seat, said, FREE)

    def _allowed(self, snapshot: Snapshot, ask: Ask) -> Contribution:
        """A contribution of an allowed type that refers to what is there."""
        state, draw = snapshot.state, self.data.draw
        variant = rules_of(KITS[snapshot.rules.name]).variant
        kind = draw(st.sampled_from(list_allowed_types(variant, state, ask.seat)))
        if kind == "pass":
            return Contribution(type="pass")
        lines = st.none() | st.integers(1, state.last_id)
        raised = [line.id for line in state.lines if line.said.type == "challenge"]
        some = st.lists(st.sampled_from(raised), max_size=2).map(tuple) if raised else st.just(())
        advice = (
            [line.id for line in state.lines if line.said.type in {"support", "challenge"}]
            if state.phase == "decide"
            else []
        )
        return Contribution(
            type=kind,
            text=draw(TEXTS) or "Yes.",
            confidence=draw(SCORES) or 0.75,
            choice=draw(st.sampled_from(state.opened.subject.options or ("yes", "Yes.", "no", ""))),
            refers_to=draw(lines),
            answers=draw(some),
            accepts=draw(some),
            position=draw(POSITIONS) if kind == "vote" else None,
            condition="After a pilot." if kind == "vote" else "",
            moved_by=draw(lines),
            ballot=self._ballot(variant, state) if kind == "vote" else (),
            taken=tuple(
                AdviceResponse(entry=number, how=draw(TAKINGS), why=draw(REASONS))
                for number in advice
            ),
        )

    def _ballot(self, variant: CouncilVariant, state: Council) -> tuple[CandidateVote, ...]:
        """A position on some of the candidates; none at all leaves the bare position to count."""
        named = self.data.draw(
            st.lists(
                st.sampled_from(find_candidate_ids(variant, state) or (1,)), unique=True, max_size=4
            )
        )
        return tuple(
            CandidateVote(
                candidate=number, position=self.data.draw(POSITIONS), condition="After a pilot."
            )
            for number in named
        )

    def _other(self, batch: StepResult) -> Fact | None:
        """Mostly an invitation that is taken up; None where what was said is refused."""
        kind = self.data.draw(st.integers(0, 15))
        if kind < 12 and batch.invited:
            answer = self._answer(batch.snapshot, self.data.draw(st.sampled_from(batch.invited)))
            return None if isinstance(answer, SeatLost) else answer
        if kind < 14:
            return InputGiven(text=self.data.draw(TEXTS))
        if kind < 15:
            swap = Swap(
                seat=batch.asks[0].seat,
                platform=self.data.draw(st.sampled_from((MAILBOX, "script:other"))),
            )
            return SessionForked(source=SESSION, entry=1, swaps=(swap,))
        return self.data.draw(
            st.sampled_from(
                (CloseCalled(by="ada"), BudgetExhausted(budget="time", spent=9, limit=9))
            )
        )


@pytest.mark.parametrize("name", KITS)
@LASTING
@given(st.data())
def test_every_deliberation_keeps_the_rulebook_contract(name: str, data: st.DataObject) -> None:
    """D-6, D-7: whatever is answered, even what nobody checked."""
    contract = CONTRACTS[name]
    _check_resolution(contract, check_session(contract, data))


@pytest.mark.parametrize("name", KITS)
@LASTING
@given(st.data())
def test_every_deliberation_with_seats_elsewhere_keeps_the_rulebook_contract(
    name: str, data: st.DataObject
) -> None:
    """D-6, D-7, D-16: invitations are taken up, and what has a fault is refused."""
    contract = CONTRACTS[name]
    played = Sitting(contract, data).play()
    check_asks(contract, played)
    check_folding(contract, played, data.draw(st.integers(1, len(played.entries))))
    check_evolving(contract, played, data.draw(st.integers(1, len(played.entries))))
    check_codec(contract, played)
    _check_resolution(contract, played)
    _check_turns(contract, played)
    _check_votes(played)


def _states(
    contract: RulebookContract[Council], played: PlayedSession
) -> Iterator[tuple[Council, Fact, Council]]:
    """Every entry, with the state before and after it."""
    state = contract.rules.initial(played.opened)
    for entry in played.entries[1:]:
        after = contract.rules.evolve(state, entry)
        yield state, entry.fact, after
        state = after


def _closed(played: PlayedSession) -> DeliberationClosed | None:
    fact = played.entries[-1].fact
    return fact if isinstance(fact, DeliberationClosed) else None


def _check_resolution(contract: RulebookContract[Council], played: PlayedSession) -> None:
    """D-3, D-11, D-12, D-20, D-21: one ballot for each seat, and nothing in the resolution that is not on the table."""
    closed, state = _closed(played), played.snapshot.state
    assert isinstance(state, Council)
    assert [line.id for line in state.lines] == list(range(2, len(state.lines) + 2))
    if closed is None:
        return
    assert [ballot.seat for ballot in closed.ballots] == [
        seat.id for seat in state.seats if seat.id not in closed.unasked
    ]
    assert closed.reason == "settled" or not closed.unasked
    if not isinstance(state.opened.settings, AdvisorySettings):
        # D-12: what is carried and more likely wrong than right says so.
        # what nobody had before they talked has no chance of being right beside it.
        is_likely = closed.confidence is None or closed.confidence >= 0.5 - 1e-9
        assert not closed.carried or is_likely or closed.consensus_type == "contested"
    assert not closed.candidates or closed.candidates[0].line == closed.motion
    types = {line.id: line.said.type for line in state.lines}
    assert all(types[number] == "challenge" for number in closed.open_challenges)
    assert closed.motion is not None or not closed.carried
    # an answer that is voted for counts, whether or not anybody proposed it: then the vote has its words.
    assert closed.motion is None or types[closed.motion] in {"propose", "synthesize", "vote"}
    assert closed.carried or not closed.overturned
    sided = [ballot for ballot in closed.ballots if ballot.position not in {None, "abstain"}]
    assert closed.voters == len(sided)
    assert 0 <= closed.effective_voters <= closed.voters
    assert 0 <= closed.turnout <= 1 + 1e-9
    # A vote that the user's word puts once more is withdrawn: that it is lost as well means nothing.
    counted = [
        fact.seat
        for before, fact, after in _states(contract, played)
        if isinstance(fact, SeatLost) and after is not before and not is_facts_ask(fact.ask)
    ]
    assert {lost.seat for lost in closed.lost} == {*counted}
    assert sum(lost.times for lost in closed.lost) == len(counted)
    timeline = CouncilTimeline(SESSION, rules_of(KITS[contract.rules.name]))
    for entry in played.entries:
        timeline.add(entry)
    decision = build_decision(timeline)
    assert (decision.decision is not None) == closed.carried
    assert [claim.entries for claim in decision.open_challenges] == [
        (number,) for number in closed.open_challenges
    ]


def _check_turns(contract: RulebookContract[Council], played: PlayedSession) -> None:
    """D-7: phases in order, everyone heard in each, invitations for seats elsewhere alone, nobody two phases ahead."""
    variant = rules_of(KITS[contract.rules.name]).variant
    for before, fact, after in _states(contract, played):
        outside = {seat.id for seat in after.seats if seat.is_outside}
        asks = [effect for effect in contract.rules.decide(after) if isinstance(effect, Ask)]
        assert {ask.seat for ask in asks if ask.invited} <= outside
        if isinstance(fact, Contributed):
            assert fact.seat in after.had or fact.seat not in variant.list_phase_seats(
                before, before.phase
            )
            for line in after.lines[len(before.lines) :]:
                assert line.phase in variant.list_open_phases(before)
                assert line.phase in PHASE_OF[line.said.type]
        if isinstance(fact, PhaseBegun) and before.stop is None:
            following = variant.find_next_phase(before)
            expected = (
                (before.round, following) if following else (before.round + 1, *variant.again[:1])
            )
            is_again = (fact.round, fact.phase) == (before.round, before.phase)
            # M-1: a phase that brought nothing is repeated, once.
            # D-24: without a debate, what the blind positions leave open is put to the vote at once.
            is_skipped = (before.opened.settings.debate, before.phase, fact.phase) == (
                "never",
                "propose",
                variant.first[-1],
            )
            assert is_again or is_skipped or (fact.round, fact.phase) == expected
            assert not is_again or (
                after.repeated and not before.repeated and before.phase in {"propose", "decide"}
            )
            one_is_enough = variant.one_synthesis and before.phase == "synthesize"
            assert one_is_enough or set(before.had) >= set(
                variant.list_phase_seats(before, before.phase)
            )
        is_blind = after.opened.settings.blind and after.phase == "propose"
        assert after.is_sealed == (after.is_stating_facts or is_blind or after.phase == "vote")
        for seat in after.seats:
            # D-23: nobody reads a vote of this phase but its own.
            read = {line.id for line in after.list_visible_lines(seat.id) if line.seat != seat.id}
            assert not read & after.sealed
            assert after.phase != "vote" or not read & {
                number for number in after.had.values() if number
            }


def _check_votes(played: PlayedSession) -> None:
    """D-2, D-7, D-8: the last vote of the last round counts, and where somebody owns the decision it is the owner's."""
    closed, state = _closed(played), played.snapshot.state
    if closed is None or closed.reason in {"agreed_blind", "settled", "called"}:
        return
    if isinstance(state.opened.settings, AdvisorySettings):
        owner = state.opened.settings.owner or state.seats[0].id
        assert closed.motion is None or state.line(closed.motion).seat == owner
        return
    newest = max(state.candidates, default=0)
    cast = {
        line.seat: read_ballot(line.said, state.candidates)
        for line in state.lines
        if line.said.type == "vote" and line.id > newest and line.round == state.round
        if read_ballot(line.said, state.candidates)
    }
    # Texts of one choice are counted together: the most favourable position on any of them counts.
    votes = CandidateVotes(state, state.candidates)
    alike = [
        number
        for number in (*state.candidates, closed.motion or 0)
        if votes.find_choice(number) == votes.find_choice(closed.motion or 0)
    ]
    positions = find_votes(state, state.candidates, alike)
    expected = {seat: positions[seat].position if seat in positions else "abstain" for seat in cast}
    assert {ballot.seat: ballot.position for ballot in closed.ballots if ballot.position} == (
        expected if closed.motion else {}
    )
