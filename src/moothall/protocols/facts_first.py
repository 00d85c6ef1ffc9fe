"""Facts first (Q-4): where seats were given different things, each says before its position what the others may not know.

It is one blind wave, the same in every protocol. A seat that fails to answer is on record and is asked for its position all the
same. Then everything is listed, and stands in every later prompt (`reports/stated_facts.py`).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from moothall.domain.answer_table import AnswerField, AnswerTable, define_answer, fill_brief
from moothall.domain.budget import SHORT_ANSWER, ExpectedCalls
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Effect, Record, Schema
from moothall.domain.facts import FactsListed, FactsStated, Opened
from moothall.domain.ids import AskId, SeatId, parse_ask_kind
from moothall.domain.person import Answers, PersonAsk
from moothall.domain.prompt_parts import introduce_seat
from moothall.domain.session_state import ProtocolState
from moothall.domain.stated_facts import FACTS_ASK, MAX_FACTS, StatedFacts
from moothall.locale.catalogues import FACTS_FIRST, PARTICIPANT_PROMPT
from moothall.protocols.blind_wave import BlindWave
from moothall.reports.person_steps import WORDS, offer_pass, offer_words, split_lines


def infer_facts(name: str, fields: Mapping[str, object]) -> object | None:
    """Return what was written without a form as one fact without a source."""
    words = fields.get("")
    if name != "facts" or not isinstance(words, str) or not words.strip():
        return None
    return [{"fact": words.strip(), "source": ""}]


FACTS_FORM: Final[AnswerTable[Any]] = define_answer(
    AnswerForm(
        kind=FACTS_ASK,
        reply=FactsStated,
        shape=StatedFacts,
        form="json",
        max_tokens=500,
        infer=infer_facts,
        asides=frozenset(("source",)),
    ),
    AnswerField[Any]("facts", is_needed=True, silence=()),
)
"""The table of the answer: who has nothing to add states no facts."""
_FACT: Final[Schema] = {
    "type": "object",
    "properties": {
        "fact": {"type": "string", "maxLength": 1_000},
        "source": {"type": "string", "maxLength": 300},
    },
    "required": ["fact", "source"],
    "additionalProperties": False,
}
FACTS_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": _FACT, "maxItems": MAX_FACTS}},
    "required": ["facts"],
    "additionalProperties": False,
}


def list_fact_asks(state: ProtocolState, patience: float, timed_by: str) -> tuple[Ask, ...]:
    """Return the asks for facts that are open now; none once all have answered, or where the session is to end."""
    if not state.is_stating_facts or state.stop is not None:
        return ()
    wave = BlindWave(kind=FACTS_ASK, turn=1, patience=patience, timed_by=timed_by)
    return wave.list_asks(_list_voices(state), state.facts_table.settled)


def find_facts_step(state: ProtocolState, patience: float, timed_by: str) -> tuple[Effect, ...]:
    """Return what comes before anything else of a protocol: the asks for facts, then their list; nothing after that."""
    if not state.is_stating_facts:
        return ()
    asks = list_fact_asks(state, patience, timed_by)
    if asks:
        return asks
    table = state.facts_table
    passed: list[SeatId] = []
    count = 0
    for each in table.stated:
        facts = each.said.listed
        count += len(facts)
        if not facts:
            passed.append(each.seat)
    return (Record(fact=FactsListed(count=count, passed=tuple(passed), lost=table.lost)),)


def is_facts_ask(ask: AskId) -> bool:
    """Whether an ask wants the facts of a seat."""
    return parse_ask_kind(ask) == FACTS_ASK


def build_facts_rules(state: ProtocolState, ask: Ask) -> AnswerRules:
    """Return how the facts of a seat are read."""
    return AnswerRules(form=FACTS_FORM, person=partial(_ask_person, state))


def build_facts_brief(state: ProtocolState, ask: Ask, shared: str) -> Brief:
    """Return what a seat is sent that is asked for facts; `shared` is the protocol's own form of the question."""
    language = state.opened.language
    seat = state.seat(ask.seat)
    now = PARTICIPANT_PROMPT[language].heads["now"]
    lines = [*introduce_seat(language, seat), "", now, FACTS_FIRST[language].request]
    return fill_brief(
        state,
        ask,
        build_facts_rules(state, ask),
        shared=shared,
        own="\n".join(lines),
        subject=state.opened.topic,
        schema=FACTS_SCHEMA,
        explains_fields=True,
    )


def expect_facts_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Return the calls that the wave costs: one for each seat that takes a position."""
    if not opened.facts_first:
        return ()
    seats = tuple(seat.id for seat in opened.seats if seat.id not in opened.neutral)
    return (ExpectedCalls(seats=seats, least=1.0, most=1.0, tokens_out=SHORT_ANSWER),)


def _list_voices(state: ProtocolState) -> tuple[SeatId, ...]:
    """Return the seats that have a say of their own."""
    return tuple(seat.id for seat in state.seats if seat.id not in state.opened.neutral)


def _ask_person(state: ProtocolState) -> PersonAsk:
    """Return what a person is asked: a line for each fact, with its source in the same line."""
    language = state.opened.language
    words = FACTS_FIRST[language]
    return PersonAsk(
        build=_read_person,
        steps=(offer_words(words.person, if_empty=words.nothing),),
        commands=(offer_pass(language, {"facts": []}),),
    )


def _read_person(answers: Answers) -> object:
    lines = split_lines(answers.get(WORDS, ""))
    # More lines than facts are one text.
    if len(lines) > MAX_FACTS:
        lines = ["\n".join(lines)]
    return {"facts": [{"fact": line, "source": ""} for line in lines]}
