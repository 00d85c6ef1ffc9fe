"""The rulebook of a persona meeting.

    blind → (intents → floor → speech)* → draft → stands → closed

A lost bid counts as silence for the turn; a lost speech gives the floor to the next seat; a lost draft makes the next seat the
author. The next bids after a user's input are about the input; one that comes while the conclusion is being written returns the
meeting to talking.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, assert_never

from moothall.domain.claims import extract_claim
from moothall.domain.vocabulary import is_pass_text
from moothall.features.persona import facts
from moothall.features.persona.answer_table import FORMS
from moothall.features.persona.prompts import build_answer_rules, build_brief
from moothall.features.persona.state import (
    Meeting,
    Phase,
    add_point,
    apply_view,
    build_conclusion,
    find_decider,
    list_drafters,
    list_joint_bidders,
)
from moothall.plugins import (
    USER,
    AnswerForm,
    Ask,
    Closed,
    ContextWindow,
    Effect,
    Entry,
    Fact,
    InputGiven,
    Opened,
    Record,
    Reply,
    SeatId,
    SeatLost,
    SessionResumed,
    Utterance,
    ask_id,
    clip_utterance,
    copy_fields,
    evolve_shared,
    fast_replace,
)
from moothall.protocols.answer_judge import (
    find_grouping_step,
    list_wanted_pairs,
    split_judge,
)
from moothall.protocols.blind_wave import BlindWave
from moothall.protocols.facts_first import find_facts_step

MAX_TURNS: Final = 100_000
IDLE_TURNS: Final = 2
"""How many turns in a row may pass without a speaker before the talk ends."""
"""How much of an input the writer of the conclusion reads beside the record."""


class PersonaRules:
    """Implements `Rulebook[Meeting]`."""

    name = "persona"
    kinds: Mapping[str, type[Fact]] = facts.KINDS
    forms: Mapping[str, AnswerForm] = FORMS
    brief = staticmethod(build_brief)
    answer_rules = staticmethod(build_answer_rules)

    def initial(self, opened: Opened) -> Meeting:
        assert isinstance(opened, facts.MeetingOpened)
        seats, judge = split_judge(opened.seats, opened.settings.judge)
        meeting = Meeting(
            opened=opened,
            seats=seats,
            judge_seat=judge,
            phase="blind" if opened.settings.blind else "intents",
            memory=ContextWindow(window=opened.settings.window),
            last_id=0,
            decider=find_decider(opened),
        )
        if not opened.imported:
            return _apply_utterance(meeting, USER, opened.topic, None, 1.0)
        for turn in opened.imported:
            # Imported files may lack scores: the user's words count most, any other contribution is average.
            weight = turn.relevance_score
            if weight is None:
                weight = 1.0 if turn.speaker == USER else 0.5
            meeting = _apply_utterance(meeting, turn.speaker, turn.content, turn.refers_to, weight)
            points = meeting.points
            for view in opened.views:
                if view.entry == meeting.last_id:
                    points = apply_view(points, view.entry, view.seat, view.view)
            meeting = fast_replace(meeting, points=points)
            if turn.speaker != USER:
                meeting = _record_speaker(meeting, turn.speaker, turn.content)
        # Seats bid on the newest entry, so an imported meeting continues from its end.
        return fast_replace(meeting, about=meeting.last_id, heard=meeting.last_id)

    def evolve(self, state: Meeting, entry: Entry) -> Meeting:
        if state.phase == "closed":
            return state
        fact, state = entry.fact, evolve_shared(state, entry)
        match fact:
            case facts.IntentDeclared(seat=seat, said=facts.Intent() as intent):
                if not _is_awaited(state, fact, "intents", "intent"):
                    return state
                if state.has_blind_bids:
                    state = _with_choice(state, seat, intent.choice)
                return _apply_bid(state, seat, intent)
            case facts.BidsDeclared(seat=seat, said=facts.JointBids(bids=bids)):
                if not _is_awaited(state, fact, "intents", "bids"):
                    return state
                return _apply_joint_bids(state, seat, bids)
            case facts.TurnTaken(said=facts.PersonaSpeech() as speech):
                if not _is_awaited(state, fact, "speech", "speech"):
                    return state
                return _apply_speech(state, fact.seat, speech)
            case facts.FloorGiven(seat=seat):
                return fast_replace(state, phase="speech", floor=seat, floor_heard=state.last_id)
            case facts.PositionTaken(seat=seat, said=facts.Position() as position):
                if not _is_awaited(state, fact, "blind", "position"):
                    return state
                return _apply_position(state, seat, position)
            case SeatLost():
                return _apply_loss(state, fact)
            case InputGiven(text=text):
                return _apply_input(state, text)
            case facts.TurnPassed():
                idle_turns = state.idle_turns + 1
                if _is_overtaken(state):
                    # A turn during which an input arrived was not idle: nobody has been asked about the input yet.
                    idle_turns = 0
                return _begin_next_turn(fast_replace(state, idle_turns=idle_turns))
            case facts.TalkEnded(reason=reason):
                return fast_replace(
                    state, phase="draft", ended_by=reason, floor=None, endings=state.endings + 1
                )
            case facts.ConclusionDrafted(seat=seat, said=facts.Draft() as draft):
                if not _is_awaited(state, fact, "draft", "draft"):
                    return state
                phase: Phase = "stands" if len(state.seats) > 1 else "concluding"
                return fast_replace(state, phase=phase, author=seat, draft=draft, stands={})
            case facts.StandTaken(seat=seat, said=facts.Stand() as stand):
                if not _is_awaited(state, fact, "stands", "stand"):
                    return state
                return _apply_stand(state, seat, stand)
            case SessionResumed():
                # A speaker that the dead process had asked is asked again, and is then told all that was said.
                return fast_replace(state, floor_heard=state.last_id)
            case Closed():
                return fast_replace(state, phase="closed")
            case _:
                return state

    def decide(self, state: Meeting) -> tuple[Effect, ...]:
        first = find_facts_step(state, state.opened.settings.intent_patience, "intent_patience")
        if first:
            return first
        # Before any phase: a budget or a close ends the talk at once, also in the middle of a turn.
        if state.is_talking and state.stop is not None:
            return (Record(fact=facts.TalkEnded(turn=state.turn, reason=state.stop)),)
        settling = _find_settling(state)
        if settling is not None:
            return (settling,)
        match state.phase:
            case "blind":
                return _build_wave(state).list_asks(_list_seats(state), state.positions)
            case "intents":
                if state.turn > (state.opened.budget.turns or MAX_TURNS):
                    return (Record(fact=facts.TalkEnded(turn=state.turn, reason="turns")),)
                groups = list_joint_bidders(state)
                joint = tuple(_build_ask(state, "bids", group[0].id) for group in groups)
                bidding = {seat.id: None for seat in chain.from_iterable(groups)}
                return (*joint, *_build_asks(state, "intent", {**state.intents, **bidding}))
            case "floor":
                return (Record(fact=_settle_bids(state)),)
            case "speech":
                assert state.floor is not None
                return (_build_ask(state, "speech", state.floor),)
            case "draft":
                return (_build_ask(state, "draft", list_drafters(state)[0]),)
            case "stands":
                # The author is not asked for a verdict on its own draft; `collect_last_words` counts it as support.
                others: dict[SeatId, facts.Stand | None] = {}
                if state.author:
                    others[state.author] = None
                others.update(state.stands)
                return _build_asks(state, "stand", others)
            case "concluding":
                return (Record(fact=build_conclusion(state)),)
            case "closed":
                return ()
            case _:
                assert_never(state.phase)


RULES: Final = PersonaRules()


def _find_settling(state: Meeting) -> Effect | None:
    """Return what comes before answers are counted (Q-3); None where they are settled."""
    if state.judge_seat is None or not state.is_settling:
        return None
    patience = state.opened.settings.intent_patience
    wanted = list_wanted_pairs(state, state.open_answers)
    return find_grouping_step(state, wanted, patience, "intent_patience")


def _build_ask(state: Meeting, kind: str, seat: SeatId) -> Ask:
    settings = state.opened.settings
    timed_by = "speech_patience" if kind in {"speech", "draft"} else "intent_patience"
    return Ask(
        id=ask_id(state.turn, kind, seat),
        seat=seat,
        kind=kind,
        turn=state.turn,
        patience=getattr(settings, timed_by),
        timed_by=timed_by,
    )


def _build_wave(state: Meeting) -> BlindWave:
    """Return the wave of blind positions."""
    return BlindWave(
        kind="position",
        turn=state.turn,
        patience=state.opened.settings.intent_patience,
        timed_by="intent_patience",
    )


def _list_seats(state: Meeting) -> tuple[SeatId, ...]:
    return tuple(seat.id for seat in state.seats)


def _build_asks(state: Meeting, kind: str, answered: Mapping[SeatId, object]) -> tuple[Ask, ...]:
    return tuple(
        _build_ask(state, kind, seat.id) for seat in state.seats if seat.id not in answered
    )


def _is_awaited(state: Meeting, fact: Reply | SeatLost, phase: str, kind: str) -> bool:
    # Answers to an earlier turn or phase arrive late and are ignored: their ask id names another turn.
    is_early = state.is_stating_facts or state.phase != phase
    if is_early or fact.ask != ask_id(state.turn, kind, fact.seat):
        return False
    if kind == "speech":
        return fact.seat == state.floor
    if kind == "bids":
        return any(group[0].id == fact.seat for group in list_joint_bidders(state))
    return kind != "draft" or fact.seat == list_drafters(state)[0]


def _apply_utterance(
    state: Meeting, speaker: SeatId, text: str, refers_to: int | None, weight: float
) -> Meeting:
    number = state.last_id + 1
    # Models refer to entries that do not exist, or to their own: such references are dropped.
    if refers_to is not None and not 1 <= refers_to < number:
        refers_to = None
    utterance = Utterance(id=number, speaker=speaker, text=text, refers_to=refers_to)
    points = state.points
    # The user's words are not a claim that seats could agree on or contest.
    if speaker != USER:
        points = add_point(points, number, speaker, extract_claim(text), len(state.seats))
    return fast_replace(
        state,
        last_id=number,
        memory=state.memory.add(utterance, weight),
        record=state.record.add(utterance, weight),
        points=points,
    )


def _record_speaker(state: Meeting, seat: SeatId, text: str) -> Meeting:
    words = clip_utterance(Utterance(id=0, speaker=seat, text=text)).text
    return fast_replace(
        state,
        last_spoke={**state.last_spoke, seat: state.last_id},
        speeches={**state.speeches, seat: state.speeches.get(seat, 0) + 1},
        own_words={**state.own_words, seat: words},
        last_speaker=seat,
    )


def _apply_position(state: Meeting, seat: SeatId, position: facts.Position | None) -> Meeting:
    positions = {**state.positions, seat: position}
    if position is not None:
        state = _with_choice(state, seat, position.choice)
    if len(positions) < len(state.seats):
        return fast_replace(state, positions=positions)
    return fast_replace(
        state, positions=positions, phase="intents", about=state.last_id, heard=state.last_id
    )


def _with_choice(state: Meeting, seat: SeatId, choice: str) -> Meeting:
    if not choice.strip():
        return state
    return fast_replace(state, choices={**state.choices, seat: choice})


def _apply_bid(state: Meeting, seat: SeatId, intent: facts.Intent | None) -> Meeting:
    intents = {**state.intents, seat: intent}
    phase = state.phase
    if len(intents) == len(state.seats):
        phase = "floor"
    points = state.points
    if intent is not None:
        points = apply_view(points, state.viewed, seat, intent.view)
    return fast_replace(state, intents=intents, phase=phase, points=points)


def _apply_joint_bids(
    state: Meeting, asked: SeatId, bids: tuple[facts.NamedIntent, ...]
) -> Meeting:
    """Apply one answer for several seats; a seat that it leaves out is asked apart."""
    group = next(group for group in list_joint_bidders(state) if group[0].id == asked)
    named = {bid.node_id: bid for bid in reversed(bids)}
    for seat in group:
        if (bid := named.get(seat.id)) is not None:
            intent = copy_fields(facts.Intent, bid, choice="")
            state = _apply_bid(state, seat.id, intent)
        else:
            state = fast_replace(state, apart=(*state.apart, seat.id))
    return state


def _apply_speech(state: Meeting, seat: SeatId, speech: facts.PersonaSpeech) -> Meeting:
    intent = state.intents.get(seat)
    if intent is not None and is_pass_text(speech.content):
        # Its bid is withdrawn, and the next one who wants the floor has it: silence leaves nothing.
        withdrawn = replace(intent, intent_to_speak=False)
        return fast_replace(
            state, phase="floor", floor=None, intents={**state.intents, seat: withdrawn}
        )
    # The reaction score weighs the entry in the digest: what moved a seat most is kept longest.
    score = 0.5
    if intent is not None:
        score = intent.reaction_score
    after = _apply_utterance(state, seat, speech.content, speech.refers_to, score)
    if speech.refers_to is not None:
        after = fast_replace(
            after, points=apply_view(after.points, speech.refers_to, seat, speech.view)
        )
    return _begin_next_turn(
        fast_replace(_record_speaker(after, seat, speech.content), idle_turns=0)
    )


def _begin_next_turn(state: Meeting) -> Meeting:
    had = {state.floor, *state.fallen}
    # One more turn for each seat that wanted the floor and was not given it.
    waited: dict[SeatId, int] = {}
    for seat, intent in state.intents.items():
        if intent is not None and intent.intent_to_speak and seat not in had:
            waited[seat] = state.waited.get(seat, 0) + 1
    return fast_replace(
        state,
        phase="intents",
        turn=state.turn + 1,
        # An input that no bid was about yet comes before a speech that was under way when it came.
        about=state.new_input or state.last_id,
        heard=state.last_id,
        intents={},
        floor=None,
        fallen=(),
        waited=waited,
        apart=(),
    )


def _apply_stand(state: Meeting, seat: SeatId, stand: facts.Stand | None) -> Meeting:
    stands = {**state.stands, seat: stand}
    phase = state.phase
    # All but the author.
    if len(stands) == len(state.seats) - 1:
        phase = "concluding"
    return fast_replace(state, stands=stands, phase=phase)


def _apply_loss(state: Meeting, fact: SeatLost) -> Meeting:
    seat = fact.seat
    if _is_awaited(state, fact, "intents", "intent"):
        return _apply_bid(state, seat, None)
    if _is_awaited(state, fact, "intents", "bids"):
        return _apply_joint_bids(state, seat, ())
    if _is_awaited(state, fact, "blind", "position"):
        return _apply_position(state, seat, None)
    if _is_awaited(state, fact, "speech", "speech"):
        # Back to the floor with the same bids: the next highest speaks, without asking everyone again.
        return fast_replace(state, phase="floor", floor=None, fallen=(*state.fallen, seat))
    if _is_awaited(state, fact, "stands", "stand"):
        return _apply_stand(state, seat, None)
    if _is_awaited(state, fact, "draft", "draft"):
        lost = (*state.drafters_lost, seat)
        phase: Phase = "draft"
        if len(lost) == len(state.seats):
            phase = "concluding"
        return fast_replace(state, drafters_lost=lost, phase=phase)
    return state


def _apply_input(state: Meeting, text: str) -> Meeting:
    after = _apply_utterance(state, USER, text, None, 1.0)
    # While the meeting talks, the next bids pick up the input. With a spent budget it is only recorded.
    if state.is_talking or state.is_spent:
        return after
    # The draft did not know the input, so it is discarded and the talk resumes.
    return _begin_next_turn(
        fast_replace(
            after, ended_by=None, draft=None, author=None, stands={}, drafters_lost=(), idle_turns=0
        )
    )


def _settle_bids(state: Meeting) -> facts.FloorGiven | facts.TurnPassed | facts.TalkEnded:
    """Return the result of a complete set of bids."""
    bids = {seat: intent for seat, intent in state.intents.items() if intent is not None}
    # Bids that somebody already failed to use, or that came before an input, say nothing about whether the talk is over.
    if not state.fallen and not _is_overtaken(state):
        judge = state.decider
        # The decider cannot end a talk in which nobody has spoken yet.
        if judge in bids and bids[judge].sufficient and state.last_speaker is not None:
            return facts.TalkEnded(turn=state.turn, reason="sufficient")
        # Quiet at the start with seats lost is not agreement: the lost seats may be those that wanted to speak.
        is_quiet = all(
            bid.reaction_score < state.opened.settings.threshold for bid in bids.values()
        )
        # Nor do lost seats agree: at least half must have bid.
        if (
            is_quiet
            and _is_majority_present(state, bids)
            and (len(bids) == len(state.seats) or state.last_speaker is not None)
        ):
            return facts.TalkEnded(turn=state.turn, reason=_name_silence(state, "quiet"))
    wanting: dict[SeatId, float] = {}
    for seat, bid in bids.items():
        if bid.intent_to_speak and seat not in state.fallen:
            wanting[seat] = bid.reaction_score
    if wanting:
        return _give_floor(state, wanting)
    if state.idle_turns + 1 < IDLE_TURNS or _is_overtaken(state):
        return facts.TurnPassed(turn=state.turn)
    if state.fallen or not _is_majority_present(state, bids):
        return facts.TalkEnded(turn=state.turn, reason="seats_lost")
    return facts.TalkEnded(turn=state.turn, reason=_name_silence(state, "nobody_speaks"))


def _name_silence(state: Meeting, reason: facts.EndReason) -> facts.EndReason:
    """Return why a talk ends that nobody wants to go on with: one that nobody ever spoke in has not gone quiet."""
    if state.last_speaker is None:
        return "nobody_spoke"
    return reason


def _is_overtaken(state: Meeting) -> bool:
    """Whether an input arrived after the bids of this turn were requested."""
    return state.last_id > state.heard


def _is_majority_present(state: Meeting, bids: Mapping[SeatId, facts.Intent]) -> bool:
    return bool(bids) and len(bids) * 2 >= len(state.seats)


def _give_floor(state: Meeting, wanting: Mapping[SeatId, float]) -> facts.FloorGiven:
    ageing = state.opened.settings.ageing
    # Beyond 1, on purpose: where all react as strongly as they can, the one that has waited longest goes first.
    aged = {seat: score + ageing * state.waited.get(seat, 0) for seat, score in wanting.items()}
    # The last speaker gives way to the others, unless nobody else wants to speak.
    others = {seat: score for seat, score in aged.items() if seat != state.last_speaker}
    field = others or aged
    best = max(field.values())
    highest = [seat for seat, score in field.items() if score == best]
    # 0 for a seat that never spoke: it has been silent the longest.
    earliest = min(state.last_spoke.get(seat, 0) for seat in highest)
    # Sorted by id, so that a tie is decided in the same way on every machine.
    silent = sorted(seat for seat in highest if state.last_spoke.get(seat, 0) == earliest)
    winner = silent[0]
    reason: facts.FloorReason = "highest" if best == max(aged.values()) else "others_first"
    if not others:
        reason = "nobody_else"
    elif len(wanting) == 1:
        reason = "only_one"
    elif len(silent) > 1:
        reason = "first_by_id"
    elif len(highest) > 1:
        reason = "longest_silent"
    elif wanting[winner] < max(wanting[seat] for seat in field):
        reason = "waited"
    waited = 0
    if ageing:
        waited = state.waited.get(winner, 0)
    return facts.FloorGiven(turn=state.turn, seat=winner, score=best, reason=reason, waited=waited)
