"""The answers of a persona meeting, field by field: what each may hold, what a person is asked for it, what silence means.

A person speaks or listens; the bid that the rules need follows from that.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, get_args

from moothall.domain.text.signs import fold_text
from moothall.domain.topic import MAX_HEADLINE, MAX_REPLIES
from moothall.domain.vocabulary import DEGREES
from moothall.features.persona import facts
from moothall.features.persona.state import Meeting, list_joint_bidders
from moothall.features.persona.words import PERSONA_PERSON, PersonaPersonText
from moothall.locale.catalogues import PERSON_STEPS
from moothall.plugins import (
    CONDITION,
    MAX_LABEL_LENGTH,
    PATTERNS,
    WHY,
    AnswerField,
    AnswerForm,
    PersonAsk,
    PersonCommand,
    PersonStep,
    Schema,
    Seat,
    StateAsk,
    allow_list,
    allow_values,
    ask_person,
    build_table_schema,
    compile_late,
    define_answer,
    index_by_kind,
    person_steps,
    quote_lines,
)
from moothall.protocols.answer_judge import JUDGE_FORM
from moothall.protocols.facts_first import FACTS_FORM
from moothall.reading.field_values import read_flag, read_share
from moothall.reading.schemas import allow_choice, allow_estimate, allow_line
from moothall.reading.stated import is_silent, split_clauses

ORDINARY: Final = 0.5
"""The reaction of a seat that asks for the floor and does not say how strong it is."""
WANTED_FROM: Final = 0.5
"""From which reaction on a seat that does not say so asks for the floor."""

_DEGREE: Final = "|".join(re.escape(word) for word in sorted(DEGREES, key=len, reverse=True))
_AMOUNT: Final = (
    rf"(?P<amount>\d{{1,3}}(?:[.,]\d+)?\s?(?:[%％]|/\s?10{{1,2}})?|\.\d+|{_DEGREE})(?![\w%％/])"
)
_NAME: Final = r"(?:score|reaction|relevance|urgency|priority|interest|importance|评分|反应|意愿|紧迫性?|重要性?|相关性?)"
# "urgency: high", "my score is 0.8"; "high urgency"; "High: the budget is gone".
_NAMED_AMOUNT: Final = compile_late(rf"{_NAME}[\s:：=]*(?:is|of|为|是)?[\s:：=]*{_AMOUNT}")
_AMOUNT_NAMED: Final = compile_late(rf"(?<![\w.]){_AMOUNT}\s*{_NAME}")
_LEADING_AMOUNT: Final = compile_late(rf"\s*{_AMOUNT}\s*(?:$|[:：.。,，;；!！—–-])")
_LISTENS: Final = PATTERNS["listens"]
_SPEAKS: Final = PATTERNS["speaks"]


def infer_bid_field(name: str, fields: Mapping[str, object]) -> object | None:
    """Return a field that a bid lacks, from what else it says ("I want to speak", "urgency: high"); None if nothing says it.

    A seat that asks for the floor without saying how much it matters is an ordinary bidder; one that only listens bids nothing.
    """
    words = "\n".join(value for value in fields.values() if isinstance(value, str)).casefold()
    match name:
        case "reaction_score":
            # The reaction that is called so, or that the words begin with; any other number is about the matter.
            amount_match = (
                _NAMED_AMOUNT.search(words)
                or _AMOUNT_NAMED.search(words)
                or _LEADING_AMOUNT.match(words)
            )
            score = None if amount_match is None else read_share(amount_match["amount"], 0, 1)
            wants = read_flag(fields.get("intent_to_speak"))
            if wants is None:
                wants = _find_wish(words)
            if score is not None or wants is None:
                return score
            return ORDINARY if wants else 0.0
        case "intent_to_speak":
            wants = _find_wish(words)
            score = read_share(fields.get("reaction_score"), 0, 1)
            if wants is not None or score is None:
                return wants
            return score >= WANTED_FROM
        case _:
            return None


def _find_wish(words: str) -> bool | None:
    rest, listens = _LISTENS.subn(" ", fold_text(words))
    speaks: list[tuple[str, str]] = []
    for clause in split_clauses(rest):
        hit = _SPEAKS.search(clause)
        if hit is not None:
            speaks.append((clause, clause[: hit.start()]))
    # "I need to say nothing" and "Bob wants to speak" ask for nothing: what is denied, doubted, asked or another's is not read.
    if speaks and (listens or not all(_is_own_wish(each, head) for each, head in speaks)):
        return None
    if speaks:
        return True
    return False if listens else None


def _is_own_wish(clause: str, head: str) -> bool:
    """Whether a clause says that its writer wants to speak, and nothing that may turn it round; `head` leads to the wish."""
    if "?" in clause or not is_silent(clause, ()):
        return False
    return PATTERNS["own_wish"].fullmatch(head) is not None


SPEAKS: Final = 1.0
"""The reaction of a person who says something: it wants the floor now."""
LISTENS: Final = 0.0
MAX_REASON: Final = 2_000
MAX_CLAIM: Final = 20_000
MAX_CLAIMS: Final = 20
MAX_ENTRIES: Final = 500

_ENTRY = compile_late(r"[#＃](\d{1,9})")


class MeetingAsk(StateAsk[Meeting]):
    @property
    def seats(self) -> tuple[Seat, ...]:
        """Who answers: several seats of one mind where their bids are asked for together."""
        own = (self.state.seat(self.ask.seat),)
        if self.ask.kind != "bids":
            return own
        return next(
            (group for group in list_joint_bidders(self.state) if group[0].id == self.ask.seat), own
        )

    @property
    def text(self) -> PersonaPersonText:
        return PERSONA_PERSON[self.language]

    @property
    def is_last_speaker(self) -> bool:
        latest = self.state.memory.latest
        return latest is not None and latest.speaker == self.ask.seat


Row = AnswerField[MeetingAsk]


def _allow_entry(asked: MeetingAsk) -> Schema:
    # A range, not a list of numbers: what lies in it and was not shown is left out when the answer is read.
    return {"type": "integer", "minimum": 1, "maximum": asked.state.last_id}


def _allow_claim(asked: MeetingAsk) -> Schema:
    return build_table_schema(facts.DraftClaim, CLAIM, asked)


def _allow_bids(asked: MeetingAsk) -> Schema:
    return {
        **allow_list(build_table_schema(facts.NamedIntent, NAMED_BID, asked), len(asked.seats)),
        "minItems": 1,
    }


def _read_claim(asked: MeetingAsk, text: str) -> Mapping[str, object]:
    """Return what a person wrote as a claim; it rests on the entries that its words name."""
    named = dict.fromkeys(int(number) for number in _ENTRY.findall(text))
    return {
        "text": text[:MAX_CLAIM],
        "entries": [number for number in named if 1 <= number <= asked.state.last_id],
    }


def _claims(name: str) -> Row:
    """Return a list of claims; a person writes each on its own line."""
    return Row(
        name,
        allow=lambda asked: allow_list(_allow_claim(asked), MAX_CLAIMS),
        ask=lambda asked: [
            PersonStep(
                name=name,
                text=getattr(asked.text, name),
                is_long=True,
                if_empty=PERSON_STEPS[asked.language].nothing,
            )
        ],
        read=lambda asked, answers: [
            _read_claim(asked, line) for line in person_steps.split_lines(answers.get(name, ""))
        ][:MAX_CLAIMS],
    )


def _ask_bid(asked: MeetingAsk) -> list[PersonStep]:
    # Nobody is asked about its own words: the last speaker listens.
    if asked.is_last_speaker:
        return []
    return [person_steps.offer_words(asked.text.bid, if_empty=asked.text.listens)]


def _ask_moved_by(asked: MeetingAsk) -> list[PersonStep]:
    # Only a mind that was made up before can have been changed.
    if not asked.state.positions.get(asked.ask.seat):
        return []
    return [person_steps.ask_moved_by(asked.language, range(1, asked.state.last_id + 1))]


CHOICE: Final = replace(
    person_steps.CHOICE_FIELD,
    is_needed=lambda asked: asked.is_open,
    allow=lambda asked: allow_choice(asked.listed, MAX_LABEL_LENGTH, is_open=asked.is_open),
    fill=lambda _: "",
)
OWN_CHOICE: Final = Row(
    "own_choice", when=lambda asked: asked.is_open, allow=lambda _: allow_line(MAX_LABEL_LENGTH)
)
ENTRIES: Final = Row("entries", allow=lambda asked: allow_list(_allow_entry(asked), MAX_ENTRIES))
CLAIM: Final = (Row("text", is_needed=True), ENTRIES)
REPLY: Final = (
    Row(
        "input",
        is_needed=True,
        allow=lambda asked: allow_values(each.number for each in asked.state.open_inputs),
    ),
    Row("text", is_needed=True),
    ENTRIES,
)
# Only the decider says whether enough was said.
SUFFICIENT: Final = Row(
    "sufficient", when=lambda asked: asked.state.decider in [seat.id for seat in asked.seats]
)
NAMED_BID: Final = (
    Row(
        "node_id", is_needed=True, allow=lambda asked: allow_values(seat.id for seat in asked.seats)
    ),
    Row("reason"),
    Row("reaction_score", is_needed=True),
    Row("intent_to_speak", is_needed=True),
    Row("view"),
    SUFFICIENT,
)
HEADLINE: Final = Row("headline", allow=lambda _: allow_line(MAX_HEADLINE))
SIDES: Final = tuple(verdict for verdict in get_args(facts.StandVerdict) if verdict != "abstain")

NUMBER: Final[Row] = replace(
    person_steps.NUMBER_FIELD, allow=lambda asked: allow_estimate(asked.unit)
)
WORDED_CHOICE: Final = replace(CHOICE, when=lambda asked: not asked.wants_number)
"""A choice in words: an estimate stands in its place where the question asks for a number."""
FORMS: Final = index_by_kind(
    JUDGE_FORM,
    FACTS_FORM,
    define_answer(
        AnswerForm(
            kind="position",
            reply=facts.PositionTaken,
            shape=facts.Position,
            form="json",
            max_tokens=130,
        ),
        Row(
            "position",
            is_needed=True,
            silence="–",
            ask=lambda asked: [person_steps.ask_words(asked.text.position)],
            read=lambda _, answers: person_steps.join_long_choice(
                answers[person_steps.WORDS], answers
            ),
        ),
        WORDED_CHOICE,
        OWN_CHOICE,
        NUMBER,
        replace(person_steps.CONFIDENCE_FIELD, silence=0.0),
    ),
    define_answer(
        AnswerForm(
            kind="intent",
            reply=facts.IntentDeclared,
            shape=facts.Intent,
            form="json",
            max_tokens=90,
            infer=infer_bid_field,
        ),
        # The source's shape has the seat's own id, which code knows.
        Row("node_id", is_hidden=True, fill=lambda asked: asked.ask.seat),
        Row(
            "reason",
            ask=_ask_bid,
            read=lambda _, answers: answers.get(person_steps.WORDS, "")[:MAX_REASON],
        ),
        Row(
            "reaction_score",
            is_needed=True,
            silence=0.0,
            read=lambda _, answers: SPEAKS if answers.get(person_steps.WORDS) else LISTENS,
        ),
        Row(
            "intent_to_speak",
            is_needed=True,
            silence=False,
            read=lambda _, answers: bool(answers.get(person_steps.WORDS)),
        ),
        Row("view"),
        Row("choice", when=lambda asked: asked.state.has_blind_bids, allow=CHOICE.allow),
        SUFFICIENT,
    ),
    define_answer(
        AnswerForm(
            kind="bids",
            reply=facts.BidsDeclared,
            shape=facts.JointBids,
            form="json",
            max_tokens=1_200,
            infer=infer_bid_field,
        ),
        Row("bids", is_needed=True, allow=_allow_bids),
    ),
    define_answer(
        AnswerForm(
            kind="speech",
            reply=facts.TurnTaken,
            shape=facts.PersonaSpeech,
            form="text",
            max_tokens=300,
        ),
        Row("content", is_needed=True),
        Row("refers_to", allow=_allow_entry),
        Row("view"),
    ),
    define_answer(
        AnswerForm(
            kind="draft",
            reply=facts.ConclusionDrafted,
            shape=facts.Draft,
            form="json",
            max_tokens=700,
        ),
        *map(_claims, ("reasons", "dissent", "open_questions")),
        Row(
            "answers",
            when=lambda asked: bool(asked.state.open_inputs),
            allow=lambda asked: allow_list(
                build_table_schema(facts.InputReply, REPLY, asked), MAX_REPLIES
            ),
        ),
        Row(
            "decision",
            is_needed=True,
            allow=_allow_claim,
            ask=lambda asked: [person_steps.ask_words(f"{asked.text.draft} {asked.text.naming}")],
            read=lambda asked, answers: _read_claim(
                asked, person_steps.join_long_choice(answers[person_steps.WORDS], answers)
            ),
        ),
        HEADLINE,
        WORDED_CHOICE,
        OWN_CHOICE,
        replace(NUMBER, is_needed=False),
        person_steps.CONFIDENCE_FIELD,
    ),
    define_answer(
        AnswerForm(
            kind="stand", reply=facts.StandTaken, shape=facts.Stand, form="json", max_tokens=150
        ),
        Row("position", read=lambda _, answers: answers.get(WHY, "")),
        Row(
            "verdict",
            is_needed=True,
            silence="abstain",
            ask=lambda asked: person_steps.ask_position(
                asked.language, get_args(facts.StandVerdict), text=asked.text.stand
            ),
            read=lambda _, answers: answers[person_steps.POSITION],
        ),
        Row("condition", read=lambda _, answers: answers.get(CONDITION, "")),
        Row("due", read=lambda _, answers: answers.get(person_steps.DUE, "")),
        Row("who"),
        replace(
            person_steps.CONFIDENCE_FIELD,
            silence=0.0,
            ask=lambda asked: [
                person_steps.ask_confidence(
                    asked.language, only_after=(person_steps.POSITION, SIDES)
                )
            ],
        ),
        Row(
            "moved_by",
            allow=_allow_entry,
            ask=_ask_moved_by,
            read=lambda _, answers: person_steps.read_moved_by(answers),
        ),
    ),
)


def build_person_ask(asked: MeetingAsk) -> PersonAsk:
    state, text, form = asked.state, asked.text, FORMS[asked.ask.kind]
    news = state.memory.recent
    match asked.ask.kind:
        case "position":
            return ask_person(form.fields, asked)
        case "intent" if asked.is_last_speaker:
            return ask_person(form.fields, asked)
        case "intent":
            return ask_person(
                form.fields,
                asked,
                news=news,
                commands=_list_bid_commands(asked),
                keeps_for="speech",
            )
        case "speech":
            intent = state.intents.get(asked.ask.seat)
            wanted = "" if intent is None else intent.reason
            # As text, so that words such as "re #3 agree: …" are read as those of an agent are.
            return PersonAsk(
                steps=(person_steps.ask_words(text.speech, default=wanted),),
                intro=text.wanted if wanted else "",
                news=news,
                build=lambda answers: answers[person_steps.WORDS],
            )
        case "draft":
            order = (
                "decision",
                "reasons",
                "dissent",
                "open_questions",
                "choice",
                "number",
                "confidence",
            )
            return ask_person(form.pick_fields(*order), asked, news=news)
        case _:
            draft = "" if state.draft is None else quote_lines(state.draft.decision.text)
            about = f"{text.decision.format(author=state.author)}\n{draft}"
            return ask_person(form.fields, asked, about=about, news=news)


def _list_bid_commands(asked: MeetingAsk) -> tuple[PersonCommand, ...]:
    silence, text = dict(FORMS["intent"].silence or ()), asked.text
    listen = PersonCommand(
        word="/listen", text=text.listen, answer=silence, words=("listen", "旁听")
    )
    if asked.state.decider != asked.ask.seat:
        return (listen,)
    enough = {**silence, "sufficient": True}
    return listen, PersonCommand(
        word="/enough", text=text.enough, answer=enough, words=("enough", "谈够了")
    )
