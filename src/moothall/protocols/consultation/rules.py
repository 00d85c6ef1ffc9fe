"""The director: a rulebook that wraps another one and serves consultations, without knowing the other's protocol.

One at a time: while a consultation runs, further requests wait in the order of their entries. The seat that asked is paused (the
request settled its ask) and asked again when the record of the consultation is written. A refused request leads to a demand for a
direct answer: no other is accepted then, so that a seat that requests again is lost for that ask.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from typing import Any, Final

from moothall.domain.consult import ConsultRequest, ConsultRules
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Effect, Record, Rulebook
from moothall.domain.facts import (
    AsksSent,
    AsksWithdrawn,
    Closed,
    Entry,
    Fact,
    Opened,
    Reply,
    SeatLost,
    SessionForked,
)
from moothall.domain.ids import AskId, SeatId, ask_id, find_asked_seat, parse_ask_kind
from moothall.domain.replace import fast_replace
from moothall.domain.roster import DIRECTOR
from moothall.domain.session_state import ProtocolState, evolve_shared
from moothall.protocols.consultation import facts, prompts
from moothall.protocols.consultation.state import (
    Consultation,
    ConsultingState,
    PendingRequest,
    build_repeat_id,
    is_director_ask,
    strip_repeat_id,
    to_inner_entry,
)

MAX_FILINGS: Final = 3
FILING_SECONDS: Final = 60.0
MAX_WORDS_LENGTH: Final = 6_000
_NOBODY: Final = ConsultRules(folder="", token="", per_seat=0, per_session=0)


class ConsultingRulebook:
    """Implements `Rulebook[ConsultingState]` around any rulebook.

    `gates` are the kinds of asks during which nobody may consult.
    """

    def __init__(self, inner: Rulebook[Any], gates: frozenset[str] = frozenset()) -> None:
        self.inner = inner
        self.gates = gates
        self.name = inner.name
        self.kinds: Mapping[str, type[Fact]] = {**inner.kinds, **facts.KINDS}
        # Every answer of the wrapped protocol may be replaced by a request.
        within_forms = {
            kind: replace(form, instead=facts.INSTEAD) for kind, form in inner.forms.items()
        }
        self.forms: Mapping[str, AnswerForm] = {**within_forms, **facts.FORMS}

    def initial(self, opened: Opened) -> ConsultingState:
        return start_director(opened, self.inner.initial(opened))

    def evolve(self, state: ConsultingState, entry: Entry) -> ConsultingState:
        if state.is_closed:
            return state
        after = apply_director(evolve_shared(state, entry), entry)
        inner = to_inner_entry(entry)
        if inner is not None:
            after = _with_last_words(
                fast_replace(after, inner=self.inner.evolve(after.inner, inner)), inner.fact
            )
        return after

    def decide(self, state: ConsultingState) -> tuple[Effect, ...]:
        if state.is_closed:
            return ()
        effects = self.decide_inner(state)
        records = tuple(effect for effect in effects if isinstance(effect, Record))
        is_ending = any(isinstance(record.fact, Closed) for record in records)
        # The wrapped protocol's facts come first, except its closing: a running consultation is filed before the session ends.
        if records and not (is_ending and state.current is not None):
            return records
        asks = () if records else tuple(effect for effect in effects if isinstance(effect, Ask))
        return self._build_effects(state, asks)

    def decide_inner(self, state: ConsultingState) -> tuple[Effect, ...]:
        """Return what the wrapped protocol wants done."""
        return self.inner.decide(state.inner)

    def brief(self, state: ConsultingState, ask: Ask) -> Brief:
        current = state.current
        if ask.kind == facts.CONSULT and current is not None:
            return prompts.build_consultation_brief(state, current, ask, self.forms[facts.CONSULT])
        if ask.kind == facts.RECORD and current is not None:
            return prompts.build_record_brief(state, current, ask, self.forms[facts.RECORD])
        # The wrapped protocol knows each ask by its first id only.
        brief = self.inner.brief(state.inner, replace(ask, id=strip_repeat_id(ask.id)))
        is_gate = state.rules.gate or ask.kind in self.gates
        return prompts.add_consultation_prompt(
            state, replace(brief, ask=ask, form=self.forms[ask.kind]), is_gate=is_gate
        )

    def answer_rules(self, state: ConsultingState, ask: Ask) -> AnswerRules:
        build = getattr(self.inner, "answer_rules", None)
        if build is None or (
            ask.kind in {facts.CONSULT, facts.RECORD} and state.current is not None
        ):
            return self.brief(state, ask)
        rules: AnswerRules = build(state.inner, replace(ask, id=strip_repeat_id(ask.id)))
        if rules.person is None:
            return self.brief(state, ask)
        is_gate = state.rules.gate or ask.kind in self.gates
        return prompts.add_consultation_rules(
            state, replace(rules, form=self.forms[ask.kind]), ask, is_gate=is_gate
        )

    # Decide: the effects that follow from the state.

    def _build_effects(self, state: ConsultingState, asks: tuple[Ask, ...]) -> tuple[Effect, ...]:
        """Return the protocol's asks without those that wait for a consultation, and the director's next step."""
        known = {ask.id: ask for ask in asks}
        current = state.current
        if current is None:
            head = _find_next_request(state, asks)
            if head is not None:
                return (Record(fact=self._judge_request(state, head, known)),)
            return tuple(_to_outer_ask(state, ask) for ask in asks)
        follows = _find_next_fact(state, current, known)
        if follows is not None:
            return (Record(fact=follows),)
        # Paused are the asker of the running consultation, the askers in the queue, and seats that must consult before they
        # answer.
        paused = {
            current.ask,
            *(each.ask for each in state.waiting),
            *(ask.id for ask in asks if _is_to_consult(state, ask)),
        }
        going = [_to_outer_ask(state, ask) for ask in asks if ask.id not in paused]
        # The answer is handed back only when its record is on disk.
        if current.is_settled:
            filing = Ask(
                id=current.record_ask,
                seat=DIRECTOR.id,
                kind=facts.RECORD,
                turn=current.number,
                patience=FILING_SECONDS,
            )
            return (*going, filing)
        busy = [ask for ask in going if ask.seat == current.to and ask.id in state.put]
        if busy:
            # The consulted seat finishes its open ask first: nobody is asked two things at once.
            return tuple(going)
        patience = state.rules.patience
        asked = Ask(
            id=current.consult_ask,
            seat=current.to,
            kind=facts.CONSULT,
            turn=current.number,
            patience=patience,
        )
        return (*(ask for ask in going if ask.seat != current.to), asked)

    def _judge_request(
        self, state: ConsultingState, head: PendingRequest, asks: Mapping[AskId, Ask]
    ) -> Fact:
        request = None if head.is_own else head.request
        # Ignoring case: agents write names as they like.
        wanted = unicodedata.normalize("NFC", head.request.to.strip().lstrip("@＠"))
        exact = next((seat.id for seat in state.seats if seat.id == wanted), None)
        to = exact or next(
            (seat.id for seat in state.seats if seat.id.casefold() == wanted.casefold()), None
        )
        reason = self._find_refusal(state, head, to, asks)
        if reason is not None or to is None:
            return facts.ConsultationRefused(
                ask=head.ask,
                seat=head.seat,
                to=head.request.to,
                reason=reason or "unknown",
                request=request,
            )
        return facts.ConsultationBegun(
            consultation=len(state.ended) + 1, ask=head.ask, seat=head.seat, to=to, request=request
        )

    def _find_refusal(
        self,
        state: ConsultingState,
        head: PendingRequest,
        to: SeatId | None,
        asks: Mapping[AskId, Ask],
    ) -> facts.Refusal | None:
        # The order of the checks is the order of the reasons that a seat is told; the first one that applies counts.
        if head.ask not in asks:
            return "withdrawn"
        if to is None:
            return "unknown"
        if to == head.seat:
            return "self"
        # Requests by the protocol itself (`Ask.first`) are not limited: only what seats ask on their own is.
        if not head.is_own:
            return None
        if state.rules.gate or parse_ask_kind(head.ask) in self.gates:
            return "gate"
        if state.exhausted is not None:
            return "budget"
        # What nobody answered may be asked again; the limits count it all the same.
        answered = [
            each
            for each in state.ended
            if each.is_own and each.advice is not None and not each.failure
        ]
        if _fold_request(head.seat, to, head.request) in {
            _fold_request(each.seat, each.to, each.request) for each in answered
        }:
            return "repeated"
        if state.count_own(head.seat) >= state.rules.per_seat:
            return "seat_limit"
        return "session_limit" if len(state.ended) >= state.rules.per_session else None


class QuestionRules:
    """Implements `Rulebook[ProtocolState]` for what a question on its own wraps: nothing happens in it."""

    name = "consultation"
    kinds: Mapping[str, type[Fact]] = facts.QUESTION_KINDS
    forms: Mapping[str, AnswerForm] = {}

    def initial(self, opened: Opened) -> ProtocolState:
        return ProtocolState(opened=opened, seats=opened.seats)

    def evolve(self, state: ProtocolState, entry: Entry) -> ProtocolState:
        return evolve_shared(state, entry)

    def decide(self, state: ProtocolState) -> tuple[Effect, ...]:
        return ()

    def brief(self, state: ProtocolState, ask: Ask) -> Brief:
        raise LookupError(f"nobody is asked {ask.id}: the director is")


class QuestionRulebook(ConsultingRulebook):
    """The director on its own: it puts the question of the opening to the other seat, and ends."""

    def decide_inner(self, state: ConsultingState) -> tuple[Effect, ...]:
        opened = state.opened
        assert isinstance(opened, facts.QuestionOpened)
        ask = ask_id(1, facts.QUESTION, opened.asker)
        outcome = _find_outcome(state, ask, opened.asker)
        if outcome is not None:
            return (Record(fact=facts.QuestionClosed(reason=outcome)),)
        patience = state.rules.patience
        return (
            Ask(
                id=ask,
                seat=opened.asker,
                kind=facts.QUESTION,
                turn=1,
                patience=patience,
                first=opened.request,
            ),
        )


def _find_outcome(state: ConsultingState, ask: AskId, asker: SeatId) -> facts.Outcome | None:
    """Return what became of the question of an opening; None as long as its record is not written."""
    if state.stop is not None or ask in state.refused:
        return state.stop or "refused"
    for ended in state.list_learned(asker):
        if ended.advice is None:
            return "failed"
        return "unknown" if ended.advice.is_unknown else "answered"
    return None


_ASK_FACTS = (Reply, SeatLost, AsksSent, AsksWithdrawn, SessionForked)


def start_director(opened: Opened, inner: Any = None) -> ConsultingState:
    rules = opened.consult or _NOBODY
    return ConsultingState(
        inner=inner, opened=opened, rules=rules, seats=opened.seats, token=rules.token
    )


def apply_director(state: ConsultingState, entry: Entry) -> ConsultingState:
    """Return the director's state after an entry; the wrapped state is not touched here, nor looked at."""
    fact = entry.fact
    after = (
        fast_replace(state, put=_update_open_asks(state.put, fact))
        if isinstance(fact, _ASK_FACTS)
        else state
    )
    current = state.current
    match fact:
        case facts.ConsultationRequested(ask=ask, said=ConsultRequest()):
            return _apply_request(after, fact) if ask in state.put else after
        case facts.ConsultationRefused():
            return _apply_refusal(after, fact, entry.seq)
        case facts.ConsultationBegun():
            return _apply_begin(after, fact, entry.seq)
        case facts.ConsultationAnswered(ask=ask, said=facts.Advice() as advice):
            if current is None or current.is_settled or ask != current.consult_ask:
                return after
            return fast_replace(after, current=replace(current, advice=advice, at=entry.at))
        case facts.ConsultationFiled(ask=ask, said=facts.RecordLocation() as filed):
            if current is None or not current.is_settled or ask != current.record_ask:
                return after
            return _apply_end(after, replace(current, filed=filed))
        case facts.ConsultationFailed(consultation=number, reason=reason):
            if current is None or number != current.number:
                return after
            # Advice that could not be recorded does not count: everything that a seat was told must be on file.
            if reason == "unrecorded":
                return _apply_end(after, replace(current, advice=None, failure=reason))
            return fast_replace(after, current=replace(current, failure=reason, at=entry.at))
        case SeatLost(ask=ask) if current is not None and ask in {
            current.consult_ask,
            current.record_ask,
        }:
            return _apply_loss(after, current, fact, entry)
        case SessionForked():
            # A fork needs a token of its own: its consultations must not overwrite the records of its source.
            origin = f"{state.token}\x1f{fact.source}\x1f{fact.entry}\x1f{entry.at.isoformat()}"
            token = sha256(origin.encode()).hexdigest()[:16]
            return fast_replace(after, token=token)
        case Reply(ask=ask) | SeatLost(ask=ask):
            return _apply_settled_ask(after, ask)
        case _:
            return after


def _apply_request(state: ConsultingState, fact: facts.ConsultationRequested) -> ConsultingState:
    current, ask = state.current, strip_repeat_id(fact.ask)
    # Scripted participants answer by count: the request used up one of their answers.
    extra = _increment_count(state.extra, f"{parse_ask_kind(ask)}.{fact.seat}")
    # The consulted seat itself asks for a consultation: nesting is refused once, then it must answer directly.
    if (
        current is not None
        and not current.is_settled
        and (fact.ask, fact.seat) == (current.consult_ask, current.to)
    ):
        return fast_replace(state, current=replace(current, nested=fact.said), extra=extra)
    if is_director_ask(ask) or fact.seat != find_asked_seat(ask):
        return state
    return fast_replace(
        state,
        waiting=(*state.waiting, PendingRequest(ask=ask, seat=fact.seat, request=fact.said)),
        extra=extra,
    )


def _update_open_asks(put: tuple[AskId, ...], fact: Fact) -> tuple[AskId, ...]:
    match fact:
        case Reply(ask=ask) | SeatLost(ask=ask):
            return tuple(each for each in put if each != ask)
        case AsksSent(asks=asks):
            return (*put, *asks)
        case AsksWithdrawn(asks=asks):
            return tuple(each for each in put if each not in asks)
        case SessionForked():
            return ()
        case _:
            return put


def _to_outer_ask(state: ConsultingState, ask: Ask) -> Ask:
    """Return an ask of the protocol under its current id."""
    times = state.again.get(ask.id, 0)
    return replace(ask, id=build_repeat_id(ask.id, times)) if times else ask


def _is_to_consult(state: ConsultingState, ask: Ask) -> bool:
    return ask.first is not None and state.again.get(ask.id, 0) == 0


def _find_next_request(state: ConsultingState, asks: tuple[Ask, ...]) -> PendingRequest | None:
    """Return the request whose turn it is: requests of seats first, then those that the protocol demands."""
    if state.waiting:
        return state.waiting[0]
    for ask in asks:
        if ask.first is not None and _is_to_consult(state, ask):
            return PendingRequest(ask=ask.id, seat=ask.seat, request=ask.first, is_own=False)
    return None


def _find_next_fact(
    state: ConsultingState, current: Consultation, asks: Mapping[AskId, Ask]
) -> Fact | None:
    """Return the next fact that the running consultation leads to by itself."""
    if current.nested is not None:
        return facts.ConsultationRefused(
            ask=current.consult_ask, seat=current.to, to=current.nested.to, reason="nested"
        )
    if current.is_settled:
        is_over = current.filings >= MAX_FILINGS
        return (
            facts.ConsultationFailed(consultation=current.number, reason="unrecorded")
            if is_over
            else None
        )
    # The protocol no longer waits for the asker, so nobody needs the answer.
    return (
        None
        if current.ask in asks
        else facts.ConsultationFailed(consultation=current.number, reason="withdrawn")
    )


def _fold_request(seat: SeatId, to: SeatId, request: ConsultRequest) -> tuple[SeatId, SeatId, str]:
    # Without case, width and punctuation: the same question with other punctuation is a repetition.
    return (
        seat,
        to,
        "".join(
            char
            for char in unicodedata.normalize("NFKC", request.question).casefold()
            if char.isalnum()
        ),
    )


def _increment_count(counts: Mapping[Any, int], key: Any) -> dict[Any, int]:
    return {**counts, key: counts.get(key, 0) + 1}


def _apply_refusal(
    state: ConsultingState, fact: facts.ConsultationRefused, seq: int
) -> ConsultingState:
    current, waiting, request = state.current, state.waiting, fact.request
    is_nested = current is not None and fact.ask == current.consult_ask
    if current is not None and is_nested:
        request = current.nested
        state = fast_replace(
            state, current=replace(current, nested=None, tries=current.tries + 1, is_direct=True)
        )
    elif waiting and waiting[0].ask == fact.ask:
        request = waiting[0].request
        state = fast_replace(state, waiting=waiting[1:])
    if request is None:
        return state
    refused = Consultation(
        number=0,
        ask=fact.ask,
        seat=fact.seat,
        to=SeatId(fact.to),
        request=request,
        seq=seq,
        refusal=fact.reason,
    )
    state = fast_replace(state, rejected=(*state.rejected, refused))
    # A withdrawn ask is gone, so there is nothing to ask again.
    if is_nested or fact.reason == "withdrawn":
        return state
    return fast_replace(
        state,
        again=_increment_count(state.again, fact.ask),
        refused={**state.refused, fact.ask: fact.reason},
    )


def _apply_begin(
    state: ConsultingState, fact: facts.ConsultationBegun, seq: int
) -> ConsultingState:
    waiting = state.waiting
    is_own = bool(waiting) and waiting[0].ask == fact.ask
    request = waiting[0].request if is_own else fact.request
    # Guards against a forged or repeated fact: numbers are consecutive, and only one consultation runs at a time.
    if state.current is not None or request is None or fact.consultation != len(state.ended) + 1:
        return state
    current = Consultation(
        number=fact.consultation,
        ask=fact.ask,
        seat=fact.seat,
        to=fact.to,
        request=request,
        seq=seq,
        is_own=is_own,
    )
    extra = _increment_count(state.extra, f"{facts.CONSULT}.{fact.to}")
    return fast_replace(state, current=current, waiting=waiting[is_own:], extra=extra)


def _apply_end(state: ConsultingState, ended: Consultation) -> ConsultingState:
    """End the consultation and hand its outcome to the asker."""
    again = _increment_count(state.again, ended.ask)
    return fast_replace(state, current=None, again=again, ended=(*state.ended, ended))


def _apply_loss(
    state: ConsultingState, current: Consultation, fact: SeatLost, entry: Entry
) -> ConsultingState:
    if current.is_settled and fact.ask == current.record_ask:
        return fast_replace(state, current=replace(current, filings=current.filings + 1))
    if not current.is_settled and fact.ask == current.consult_ask:
        return fast_replace(state, current=replace(current, failure=fact.reason, at=entry.at))
    return state


def _apply_settled_ask(state: ConsultingState, ask: AskId) -> ConsultingState:
    """Forget what is needed to repeat an ask of the protocol, once that ask is settled."""
    plain = strip_repeat_id(ask)
    if (
        is_director_ask(ask)
        or plain not in state.again
        or ask != build_repeat_id(plain, state.again[plain])
    ):
        return state
    return fast_replace(
        state,
        again={key: value for key, value in state.again.items() if key != plain},
        refused={key: value for key, value in state.refused.items() if key != plain},
    )


def _with_last_words(state: ConsultingState, fact: Fact) -> ConsultingState:
    if not isinstance(fact, Reply) or fact.seat not in {seat.id for seat in state.seats}:
        return state
    words = extract_answer_text(fact.said)
    return (
        fast_replace(state, words={**state.words, fact.seat: words[:MAX_WORDS_LENGTH]})
        if words
        else state
    )


def extract_answer_text(said: object) -> str:
    """Return the text of an answer of any shape."""
    if not is_dataclass(said) or isinstance(said, type):
        return ""
    whole = getattr(said, "content", None)
    if isinstance(whole, str):
        return whole
    texts = [getattr(said, each.name) for each in fields(said)]
    return "\n".join(text for text in texts if isinstance(text, str) and text)
