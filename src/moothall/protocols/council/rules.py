"""The rulebook of debate, advisory and consensus; a `CouncilVariant` holds their differences.

    propose → argue (→ answer) → synthesize → vote (→ again)      debate, consensus
    propose → argue → decide                                      advisory

In the phase `answer` those who were challenged answer; there is none if nobody was.

A phase ends when every seat that takes part has had a turn; a pass counts as a turn, and so does a loss. An outside seat need not
wait to be asked: during a phase it may add to what it said, change its vote, or continue with the next phase, which passes its
turn in this one if it had none. Blind contributions and votes stay hidden until the phase ends.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

from moothall.domain.dictionaries import BoundedDict
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Effect, Record
from moothall.domain.facts import (
    CloseCalled,
    Closed,
    Entry,
    Fact,
    FactsListed,
    FamilyStated,
    InputGiven,
    Opened,
    SeatLost,
)
from moothall.domain.ids import USER, AskId, SeatId, ask_id
from moothall.domain.replace import fast_replace
from moothall.domain.roster import Seat
from moothall.domain.session_state import evolve_shared
from moothall.protocols.answer_judge import (
    find_grouping_step,
    list_wanted_pairs,
    split_judge,
)
from moothall.protocols.council import depth, facts
from moothall.protocols.council.answer_table import FORMS
from moothall.protocols.council.ballots import find_early_votes
from moothall.protocols.council.motions import list_candidates, list_proposals
from moothall.protocols.council.prompts import build_answer_rules, build_brief
from moothall.protocols.council.resolution import build_closing, compute_outcome
from moothall.protocols.council.state import (
    PASSED,
    SETTLING,
    Council,
    CouncilLine,
    CouncilVariant,
    find_challenged_seats,
    has_voted,
)
from moothall.protocols.council.validation import AllowedTypes
from moothall.protocols.facts_first import find_facts_step, is_facts_ask, list_fact_asks

MAX_CONTRIBUTIONS: Final = 200
"""How often one seat may speak in a deliberation."""
DECIDED_STATES: Final = 64
"""For how many of the last states the effects are cached."""


class CouncilRules:
    """Implements `Rulebook[Council]`."""

    forms: Mapping[str, AnswerForm] = FORMS

    def __init__(
        self, name: str, opening: type[facts.CouncilOpened], variant: CouncilVariant
    ) -> None:
        self.name = name
        self.opening = opening
        self.variant = variant
        self.kinds: Mapping[str, type[Fact]] = {f"{name}.opened": opening, **facts.SHARED_KINDS}
        self._decided: BoundedDict[int, tuple[Council, tuple[Effect, ...]]] = BoundedDict(
            DECIDED_STATES
        )

    def initial(self, opened: Opened) -> Council:
        assert isinstance(opened, facts.CouncilOpened)
        seats, judge = split_judge(opened.seats, opened.settings.judge)
        return Council(opened=opened, seats=seats, judge_seat=judge, phase=self.variant.first[0])

    def evolve(self, state: Council, entry: Entry) -> Council:
        if state.phase == "closed":
            return state
        fact = entry.fact
        # What its vote counts is fixed once a seat has voted; a loss of what is not asked for now changes nothing.
        if (isinstance(fact, FamilyStated) and has_voted(state, fact.seat)) or (
            isinstance(fact, SeatLost)
            and fact.ask not in {ask.id for ask in self._build_asks(state)}
        ):
            return state
        state = evolve_shared(state, entry)
        match fact:
            case facts.Contributed(seat=seat, said=facts.Contribution()):
                if not self._is_allowed(state, fact.ask, seat):
                    return state
                return _apply_contribution(self.variant, state, fact, entry)
            case FactsListed():
                return fast_replace(state, sealed_after=entry.seq)
            case SeatLost() if is_facts_ask(fact.ask):
                return state
            case SeatLost() if fact.seat not in state.opened.neutral:
                return fast_replace(state, had={**state.had, fact.seat: None})
            case facts.PhaseBegun():
                return _apply_phase(_reveal_lines(state, entry.seq, fact.phase), fact, entry.seq)
            case InputGiven(text=text):
                # A line that belongs to no phase.
                phase: facts.Phase = "propose"
                if state.phase != "closed":
                    phase = state.phase
                said = facts.Contribution(type="pass", text=text)
                line = CouncilLine(
                    id=state.last_id + 1,
                    seq=entry.seq,
                    at=entry.at,
                    seat=USER,
                    said=said,
                    round=state.round,
                    phase=phase,
                )
                return _put_vote_again(fast_replace(state, lines=(*state.lines, line)))
            case CloseCalled():
                # Votes that were cast ahead must count, because the vote itself never begins.
                return _with_early_votes(self.variant, state)
            case Closed():
                return fast_replace(_reveal_lines(state, entry.seq, "closed"), phase="closed")
            case _:
                return state

    def decide(self, state: Council) -> tuple[Effect, ...]:
        # After every contribution the same state is asked several times, and with many seats there is much to return.
        known = self._decided.get(id(state))
        if known is not None and known[0] is state:
            return known[1]
        effects = self._decide(state)
        self._decided[id(state)] = (state, effects)
        return effects

    def _decide(self, state: Council) -> tuple[Effect, ...]:
        if state.phase == "closed":
            return ()
        first = find_facts_step(state, state.opened.settings.patience, "patience")
        if first:
            return first
        follows = self._find_next_fact(state)
        if follows is not None:
            return (Record(fact=follows),)
        asks = self._build_asks(state)
        return (*asks, *self._build_invitations(state, asks))

    def brief(self, state: Council, ask: Ask) -> Brief:
        return build_brief(self.variant, state, ask)

    def answer_rules(self, state: Council, ask: Ask) -> AnswerRules:
        return build_answer_rules(self.variant, state, ask)

    def _find_next_fact(self, state: Council) -> Fact | None:
        """Return the next fact that follows from the state; None while a seat still has a turn."""
        if state.stop == "called":
            return build_closing(self.variant, state, "called")
        if state.stop is not None and state.phase not in {"vote", "decide"}:
            # An exhausted budget ends the discussion, not the decision: the current motion is decided now.
            return self._begin_phase(state, state.round, self.variant.first[-1]) or build_closing(
                self.variant, state, state.stop
            )
        is_panel = (
            state.phase == "propose"
            and state.opened.settings.panel == "adaptive"
            and state.stop is None
        )
        if is_panel and depth.find_settled_choice(state) is not None:
            return build_closing(self.variant, state, "settled")
        if state.phase == "propose" and depth.is_settled_alone(state):
            return build_closing(self.variant, state, "one_mind")
        if not self._is_phase_over(state):
            return None
        settling = find_settling(state)
        if isinstance(settling, Record):
            return settling.fact
        if settling is not None:
            return None
        if state.phase == "propose":
            return self._end_proposing(state) or self._begin_next_phase(state)
        if state.phase in {"vote", "decide"}:
            return self._end_round(state)
        return self._begin_next_phase(state)

    def _is_phase_over(self, state: Council) -> bool:
        # One accepted synthesis is enough; `had` holds 0 or None for seats that passed or were lost.
        if self.variant.one_synthesis and state.phase == "synthesize" and any(state.had.values()):
            return True
        return all(seat in state.had for seat in self.variant.list_phase_seats(state, state.phase))

    def _end_proposing(self, state: Council) -> Fact | None:
        owner = self.variant.owner(state.opened)
        # In advisory the owner must have proposed something: nobody else can decide.
        is_missing = owner is not None and all(line.seat != owner for line in list_proposals(state))
        if is_missing or not list_proposals(state):
            # Everyone has a position: whoever gave none is asked once more before the session ends over it.
            again = _repeat_phase(state)
            if again is not None:
                return again
            if is_missing and owner in state.losses:
                return build_closing(self.variant, state, "owner_lost")
            return build_closing(self.variant, state, "nothing_proposed")
        mode = depth.find_debate_mode(state.opened)
        ending = depth.find_blind_ending(self.variant, state, mode)
        if ending is not None:
            closing = build_closing(self.variant, state, ending)
            # All agree, but no vote weighs enough to carry the motion: then it is argued in the normal way.
            if closing.carried or ending == "settled":
                return closing
            return None
        if mode == "never" and state.opened.settings.blind:
            # Nobody argues, but what the blind positions leave open is put to the vote, or to the owner.
            return self._begin_phase(state, state.round, self.variant.first[-1])
        return None

    def _end_round(self, state: Council) -> Fact:
        if state.phase == "decide":
            if any(
                line.phase == "decide" and line.said.type == "synthesize" for line in state.lines
            ):
                return build_closing(self.variant, state, "decided")
            return _repeat_phase(state) or build_closing(self.variant, state, "owner_lost")
        # Without any vote another round would only repeat the failure.
        is_last = state.round >= state.opened.settings.rounds or not state.votes
        is_over = is_last or compute_outcome(self.variant, state).carried
        if is_over:
            return build_closing(self.variant, state, state.cut_by or "voted")
        if state.stop is not None:
            return build_closing(self.variant, state, state.stop)
        return facts.PhaseBegun(round=state.round + 1, phase=self.variant.again[0])

    def _begin_next_phase(self, state: Council) -> Fact:
        following = self.variant.find_next_phase(state)
        assert following is not None, "a round ends with a vote or a decision"
        return self._begin_phase(state, state.round, following) or build_closing(
            self.variant, state, "nothing_proposed"
        )

    def _begin_phase(
        self, state: Council, number: int, phase: facts.Phase
    ) -> facts.PhaseBegun | None:
        """Return the fact that begins a phase; None if there is nothing to decide on."""
        candidates = tuple(line.id for line in list_candidates(self.variant, state))
        if not candidates:
            return None
        # Fixed when the vote begins, so that later contributions cannot change what the votes are about.
        return facts.PhaseBegun(
            round=number, phase=phase, candidates=candidates if phase == "vote" else ()
        )

    def _build_asks(self, state: Council) -> tuple[Ask, ...]:
        if state.is_stating_facts:
            return list_fact_asks(state, state.opened.settings.patience, "patience")
        if state.judge_seat is not None and self._is_phase_over(state):
            settling = find_settling(state)
            if isinstance(settling, Ask):
                return (settling,)
        return tuple([_build_ask(state, seat) for seat in self._list_asked(state)])

    def _list_asked(self, state: Council) -> list[SeatId]:
        waiting = [
            seat
            for seat in self.variant.list_phase_seats(state, state.phase)
            if seat not in state.had
        ]
        first = depth.find_asked_alone(state) if state.phase == "propose" else None
        if first in waiting:
            return [first]
        if waiting and is_one_by_one(self.variant, state.opened.settings, state.phase):
            # The others are asked once the first has answered, so that each sees what was said before.
            return waiting[:1]
        return waiting

    def _build_invitations(self, state: Council, asks: tuple[Ask, ...]) -> tuple[Ask, ...]:
        """Return the asks that seats may answer unprompted; only outside seats do so."""
        asked = {ask.seat for ask in asks}
        free = [
            seat for seat in state.seats if seat.id not in asked and _may_be_invited(state, seat)
        ]
        allowed = AllowedTypes.of(self.variant, state)
        return tuple([_build_free_ask(state, seat.id) for seat in free if allowed.has_types(seat)])

    def _is_allowed(self, state: Council, ask: AskId, name: SeatId) -> bool:
        seat = next((seat for seat in state.seats if seat.id == name), None)
        if seat is None or state.is_stating_facts:
            return False
        if name in self._list_asked(state):
            return ask == _build_ask(state, name).id
        is_invited = _may_be_invited(state, seat) and AllowedTypes.of(
            self.variant, state
        ).has_types(seat)
        return is_invited and ask == _build_free_ask(state, name).id


def find_settling(state: Council) -> Ask | Record | None:
    """Return what comes before the answers of a phase that is over are counted (Q-3); None where they are settled."""
    is_settling = state.phase in SETTLING and state.opened.settings.blind
    if state.judge_seat is None or not is_settling:
        return None
    patience = state.opened.settings.patience
    wanted = list_wanted_pairs(state, state.open_answers)
    return find_grouping_step(state, wanted, patience, "patience")


def _may_be_invited(state: Council, seat: Seat) -> bool:
    # In round_robin a seat may only add to its turn after it had one; otherwise it would jump the queue.
    is_open = state.opened.settings.order == "open"
    return (
        seat.is_outside
        and (is_open or seat.id in state.had)
        and state.counts.get(seat.id, 0) < MAX_CONTRIBUTIONS
    )


def is_one_by_one(variant: CouncilVariant, settings: facts.CouncilSettings, phase: str) -> bool:
    """Whether the seats of a phase are asked one after the other."""
    if phase == "propose":
        return settings.panel == "adaptive"
    return (phase == "synthesize" and variant.one_synthesis) or (
        settings.order == "round_robin" and phase in {"argue", "synthesize"}
    )


def _build_ask(state: Council, seat: SeatId) -> Ask:
    assert state.phase != "closed"
    # `step` counts phases over all rounds: it makes the id unique if a phase is repeated.
    return _make_ask(state.step, state.phase, seat, state.round, state.opened.settings.patience)


# With many seats nearly all asks are the same after every contribution, and making them is what deciding would cost.
@lru_cache(maxsize=8_192)
def _make_ask(
    number: int, kind: str, seat: SeatId, turn: int, patience: float, *, invited: bool = False
) -> Ask:
    return Ask(
        id=ask_id(number, kind, seat),
        seat=seat,
        kind=kind,
        turn=turn,
        patience=patience,
        invited=invited,
        timed_by="patience",
    )


def _build_free_ask(state: Council, seat: SeatId) -> Ask:
    # Numbered per seat: every further contribution needs an ask id of its own.
    number = state.counts.get(seat, 0) + 1
    return _make_ask(number, "free", seat, number, state.opened.settings.patience, invited=True)


def _apply_contribution(
    variant: CouncilVariant, state: Council, fact: facts.Contributed, entry: Entry
) -> Council:
    seat, said = fact.seat, fact.said
    counts = {**state.counts, seat: state.counts.get(seat, 0) + 1}
    # Speaking ahead passes the turn of this phase, but an earlier contribution to it stays.
    has_turn = seat in variant.list_phase_seats(state, state.phase)
    had = dict(state.had)
    if has_turn:
        had[seat] = state.had.get(seat) or PASSED
    if said.type == "pass" or state.phase == "closed":
        return fast_replace(state, had=had, counts=counts)
    open_phases = variant.list_open_phases(state)
    phase: facts.Phase | None = None
    for each in facts.PHASE_OF[said.type]:
        if each in open_phases and seat in variant.list_phase_seats(state, each):
            phase = each
            break
    # It was valid for the state it was written for, but the phase has moved on: it counts as a turn only.
    if phase is None:
        return fast_replace(state, had=had, counts=counts)
    line = CouncilLine(
        id=state.last_id + 1,
        seq=entry.seq,
        at=entry.at,
        seat=seat,
        said=said,
        round=state.round,
        phase=phase,
        via=fact.origin,
        model=fact.model,
        mends=fact.corrections,
    )
    is_hidden = state.is_sealed or phase == "vote"
    sealed = state.sealed
    if is_hidden:
        sealed = sealed | {line.id}
    state = fast_replace(state, lines=(*state.lines, line), counts=counts, sealed=sealed)
    if phase != state.phase:
        return fast_replace(state, had=had, ahead={**state.ahead, seat: line.id})
    votes = state.votes
    if phase == "vote":
        votes = {**votes, seat: line.id}
    return fast_replace(state, had={**state.had, seat: line.id}, votes=votes)


def _put_vote_again(state: Council) -> Council:
    """Ask all once more, and once only, where the user has spoken while votes are out, or the owner decides (Q-8).

    The asks that are out are withdrawn, because the new ones have other ids. Until a seat votes again, its vote stands.
    """
    is_out = state.phase in {"vote", "decide"} and not state.put_again
    if not is_out or state.stop is not None:
        return state
    return fast_replace(state, step=state.step + 1, had={}, put_again=True)


def _repeat_phase(state: Council) -> facts.PhaseBegun | None:
    """Return the fact that asks once more those who gave nothing in this phase; None if they were asked twice."""
    assert state.phase != "closed"
    if state.repeated or state.stop is not None:
        return None
    return facts.PhaseBegun(round=state.round, phase=state.phase)


def _reveal_lines(state: Council, entry: int, phase: facts.Phase | Literal["closed"]) -> Council:
    """Open what was sealed when a phase ends; asking once more does not end the first one, and votes ahead wait for theirs."""
    if phase == "propose":
        return state
    ends_vote = phase == "closed" or state.phase == "vote"
    if ends_vote:
        still_sealed: frozenset[int] = frozenset()
        reveals = (*state.reveals, entry)
    else:
        lines = state.list_lines(state.sealed)
        still_sealed = frozenset(line.id for line in lines if line.phase == "vote")
        reveals = state.reveals
    return fast_replace(
        state, sealed=still_sealed, reveals=reveals, revealed_at=state.revealed_at or entry
    )


def _apply_phase(state: Council, fact: facts.PhaseBegun, entry: int) -> Council:
    # Lines that were written ahead count as the turn of their seat, if they belong to this phase; later ones pass it.
    ahead = state.map_lines(state.ahead)
    later = {seat: line.id for seat, line in ahead.items() if line.phase == "vote" != fact.phase}
    had: dict[SeatId, int | None] = {
        seat: line.id for seat, line in ahead.items() if line.phase == fact.phase
    }
    had |= dict.fromkeys(later, PASSED)
    repeated = fact.phase == state.phase and fact.round == state.round
    if repeated:
        had |= {seat: line for seat, line in state.had.items() if line}
    # Kept for advisory, where a pass during the argument is an abstention at the end.
    argued = state.had if state.phase == "argue" else state.argued
    # What was listed before positions stays open while these are written blind, also a second time.
    readable = state.facts_table.listed_at
    if fact.phase == "vote":
        readable = entry
    challenged = state.challenged
    if fact.phase == "answer":
        challenged = find_challenged_seats(state)
    after = fast_replace(
        state,
        round=fact.round,
        phase=fact.phase,
        step=state.step + 1,
        had=had,
        ahead=later,
        argued=argued,
        repeated=repeated,
        cut_by=state.stop,
        sealed_after=readable,
        challenged=challenged,
    )
    if not repeated:
        after = fast_replace(after, put_again=False)
    if fact.phase != "vote":
        return after
    votes = find_early_votes(state, fact.candidates)
    # Who voted before the user's last word has not read it: that vote counts only if no other comes.
    newest = max((each.number for each in state.user_inputs), default=0)
    had = {seat: line for seat, line in votes.items() if line > newest}
    return fast_replace(after, had=had, votes=votes, candidates=fact.candidates)


def _with_early_votes(variant: CouncilVariant, state: Council) -> Council:
    """Count the votes that were cast before the vote began, in case it never begins."""
    candidates = tuple(line.id for line in list_candidates(variant, state))
    votes = find_early_votes(state, candidates)
    if not votes:
        return state
    return fast_replace(state, votes=votes, candidates=candidates)
