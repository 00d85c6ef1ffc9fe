"""The answers of a deliberation, field by field: what each may hold, what a person is asked for it, what silence means.

A seat that Moot asks gives what the phase is for, and no more. One from outside may speak ahead: it names the type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, get_args

from moothall.domain.answer_table import AnswerField, StateAsk, define_answer, index_by_kind
from moothall.domain.context import extract_first_sentence
from moothall.domain.effects import AnswerForm, Schema
from moothall.domain.ids import USER
from moothall.domain.person import CONDITION, WHY, Answers, PersonStep, build_key
from moothall.domain.replace import dataclass
from moothall.domain.topic import MAX_HEADLINE
from moothall.errors import BadAnswer
from moothall.locale.catalogues import COUNCIL_PERSON, PERSON_STEPS, CouncilPersonText
from moothall.protocols.answer_judge import JUDGE_FORM
from moothall.protocols.council import facts
from moothall.protocols.council.ballots import (
    ABSTAIN,
    find_candidate_ids,
    find_discussed_motion,
    infer_vote_field,
    is_by_candidates,
    list_choices,
)
from moothall.protocols.council.motions import find_blind_positions
from moothall.protocols.council.state import (
    Council,
    CouncilLine,
    CouncilVariant,
    list_own_challenges,
)
from moothall.protocols.council.validation import PHASE_TYPES, list_advice, list_offered_types
from moothall.protocols.facts_first import FACTS_FORM
from moothall.reading.schemas import (
    UNOFFERED,
    allow_choice,
    allow_estimate,
    allow_line,
    allow_list,
    allow_replies,
    allow_text,
    allow_values,
    build_table_schema,
)
from moothall.reports import person_steps
from moothall.scoring.positions import VotePosition

REFERS_TO: Final = "refers_to"
REPLY_STEP: Final = "to_user"
PASS: Final = "pass"  # noqa: S105 - a contribution that says nothing
MAX_TEXT: Final = 20_000
MAX_CHOICE: Final = 100
MAX_LINE: Final = 2_000
MAX_NAMED: Final = 200
MAX_EVIDENCE: Final = 50
MAX_NEWS: Final = 40
POSITIONS: Final = get_args(VotePosition)
CONDITIONAL: Final = "conditional_support"
UNCONDITIONAL: Final = tuple(position for position in POSITIONS if position != CONDITIONAL)
SIDES: Final = tuple(position for position in POSITIONS if position != "abstain")


@dataclass(frozen=True, kw_only=True)
class CouncilAsk(StateAsk[Council]):
    """An ask of a deliberation. What several fields need is computed once."""

    variant: CouncilVariant

    @property
    def text(self) -> CouncilPersonText:
        return COUNCIL_PERSON[self.language]

    @property
    def is_outside(self) -> bool:
        return self.state.seat(self.ask.seat).is_outside

    @property
    def phase(self) -> str:
        """What a person is asked for; unprompted, it is what the phase asks for."""
        return self.state.phase if self.ask.kind == "free" else self.ask.kind

    @cached_property
    def visible(self) -> tuple[CouncilLine, ...]:
        return self.state.list_visible_lines(self.ask.seat)

    @cached_property
    def raised(self) -> list[int]:
        """The challenges that can be answered or accepted."""
        return [
            line.id for line in self.visible if line.said.type == "challenge" and line.seat != USER
        ]

    @cached_property
    def others(self) -> list[int]:
        """The lines that may have changed the seat's mind."""
        return [line.id for line in self.visible if line.seat not in {self.ask.seat, USER}]

    @cached_property
    def candidates(self) -> Sequence[int]:
        """The resolutions of a ballot; none where there is one motion."""
        candidates = (
            find_candidate_ids(self.variant, self.state)
            if is_by_candidates(self.variant, self.state)
            else ()
        )
        return candidates if len(candidates) > 1 else ()

    @cached_property
    def voted(self) -> tuple[str, ...]:
        """What a vote is one of: the listed answers, and those that a candidate names instead."""
        return list_choices(self.state, find_candidate_ids(self.variant, self.state))

    @cached_property
    def advice(self) -> list[int]:
        return list_advice(self.state)

    def list_lines(self, numbers: Sequence[int]) -> list[CouncilLine]:
        return self.state.list_lines(numbers)


Row = AnswerField[CouncilAsk]


def _ask_resolution(asked: CouncilAsk, text: str, why: str) -> list[PersonStep]:
    """Ask for a text; where there are options, the choice comes first and the text only explains it."""
    return (
        [person_steps.offer_words(why, if_empty=asked.text.just_the_answer)]
        if asked.options
        else [person_steps.ask_words(text)]
    )


def _read_resolution(_: CouncilAsk, answers: Answers) -> str:
    return person_steps.join_long_choice(
        answers.get(person_steps.WORDS, ""), answers
    ) or person_steps.read_choice(answers)


def _ask_side(asked: CouncilAsk) -> list[PersonStep]:
    owner, text = asked.variant.owner(asked.state.opened), asked.text
    return [
        person_steps.ask_which(
            text.argue if owner is None else text.advise.format(owner=owner), text.sides
        )
    ]


def _ask_reference(asked: CouncilAsk) -> list[PersonStep]:
    if find_discussed_motion(asked.variant, asked.state) is None:
        return []
    return [
        PersonStep(
            name=REFERS_TO,
            text=asked.text.which,
            kind="reference",
            numbers=range(1, asked.state.last_id + 1),
            if_empty=asked.text.no_line,
        )
    ]


def _read_reference(_: CouncilAsk, answers: Answers) -> int | None:
    """Return the line that was named; a line that nobody named is none."""
    named = answers.get(REFERS_TO)
    return int(named) if named else None


def _ask_whether_accepted(asked: CouncilAsk) -> list[PersonStep]:
    return [
        person_steps.ask_which(
            f"#{number}: {asked.text.gives_way}", asked.text.ways, group=str(number)
        )
        for number in list_own_challenges(asked.state, asked.ask.seat)
    ]


def _read_challenges(asked: CouncilAsk, answers: Answers, way: str) -> list[int]:
    own = list_own_challenges(asked.state, asked.ask.seat)
    return [
        number for number in own if answers[build_key(person_steps.POSITION, str(number))] == way
    ]


def _ask_advice(asked: CouncilAsk) -> list[PersonStep]:
    steps, text = list[PersonStep](), asked.text
    outcomes = {how: text.outcomes[how] for how in get_args(facts.AdviceOutcome)}
    for line in asked.list_lines(asked.advice):
        question = text.advice.format(
            seat=line.seat, number=line.id, text=extract_first_sentence(line.said.text)
        )
        steps += person_steps.ask_which_and_why(asked.language, question, outcomes, str(line.id))
    return steps


def _read_advice(asked: CouncilAsk, answers: Answers) -> list[Mapping[str, object]]:
    return [
        {
            "entry": number,
            "how": answers[build_key(person_steps.POSITION, str(number))],
            "why": answers.get(build_key(WHY, str(number)), ""),
        }
        for number in asked.advice
    ]


def _ask_ballot(asked: CouncilAsk) -> list[PersonStep]:
    steps: list[PersonStep] = []
    for line in asked.list_lines(asked.candidates):
        question = asked.text.vote_on.format(
            number=line.id, seat=line.seat, text=extract_first_sentence(line.said.text)
        )
        position, *others = person_steps.ask_position(
            asked.language, POSITIONS, text=question, group=str(line.id)
        )
        steps.append(replace(position, is_needed=False, if_empty=asked.text.no_position))
        steps += [step for step in others if step.name != WHY]
    return [*steps, person_steps.ask_why(asked.language, is_long=True)]


def _read_ballot(asked: CouncilAsk, answers: Answers) -> list[Mapping[str, object]]:
    """Return the positions that were named; raises BadAnswer where none is: an abstention is said, too."""
    votes: list[Mapping[str, object]] = []
    for line in asked.list_lines(asked.candidates):
        position = answers.get(build_key(person_steps.POSITION, str(line.id)))
        condition = answers.get(build_key(CONDITION, str(line.id)), "")
        due = answers.get(build_key(person_steps.DUE, str(line.id)), "")
        if position:
            vote = {"candidate": line.id, "position": position, "condition": condition}
            votes.append({**vote, "due": due} if due else vote)
    if not votes:
        raise BadAnswer(asked.text.no_positions)
    return votes


def _ask_replies(asked: CouncilAsk) -> list[PersonStep]:
    """Ask what the one who writes the result answers to each of the user's later words."""
    steps: list[PersonStep] = []
    for each in asked.state.open_inputs:
        text = asked.text.to_user.format(number=each.number, text=extract_first_sentence(each.text))
        steps.append(
            PersonStep(
                name=REPLY_STEP, text=text, group=str(each.number), if_empty=asked.text.no_reply
            )
        )
    return steps


def _read_replies(asked: CouncilAsk, answers: Answers) -> list[Mapping[str, object]]:
    replies: list[Mapping[str, object]] = []
    for each in asked.state.open_inputs:
        text = answers.get(build_key(REPLY_STEP, str(each.number)), "")
        if text:
            replies.append({"input": each.number, "text": text})
    return replies


def _ask_moved_by(asked: CouncilAsk) -> list[PersonStep]:
    others = frozenset(line.id for line in asked.visible if line.seat != asked.ask.seat)
    # Only a mind that was made up before can have been changed.
    return (
        [person_steps.ask_moved_by(asked.language, others)]
        if asked.ask.seat in find_blind_positions(asked.state) and others
        else []
    )


def _allow_taken(asked: CouncilAsk) -> Schema:
    return allow_list(build_table_schema(facts.AdviceResponse, ADVICE, asked), MAX_NAMED)


def _require_taken(asked: CouncilAsk) -> Schema:
    """Allow responses to advice; there must be one to each."""
    entries = [
        {"type": "object", "properties": {"entry": {"const": number}}, "required": ["entry"]}
        for number in asked.advice
    ]
    return {**_allow_taken(asked), "allOf": [{"contains": entry} for entry in entries]}


def _allow_ballot(asked: CouncilAsk, *forms: tuple[Row, ...]) -> Schema:
    votes = [build_table_schema(facts.CandidateVote, form, asked) for form in forms]
    vote = votes[0] if len(votes) == 1 else {"anyOf": votes}
    # Room for two positions on each: both have to be read to see that they are two.
    return {**allow_list(vote, min(2 * len(asked.candidates), facts.MAX_BALLOT)), "minItems": 1}


def _type(*types: str, is_needed: bool = True) -> Row:
    return Row("type", is_needed=is_needed, allow=lambda _: allow_values(types))


def _known_type(kind: str) -> Row:
    """Return a type that code knows by the phase."""
    return Row("type", is_hidden=True, fill=lambda _: kind, read=lambda _, answers: kind)


def _usual_type(kind: str) -> Row:
    """Return a type that code presumes where it is no pass. It is not asked for: an empty text is the pass."""
    return replace(
        _known_type(kind),
        is_hidden=False,
        is_read_only=True,
        silence="pass",
        allow=lambda _: allow_values((kind, "pass")),
    )


def _offer_types(*types: str) -> Schema:
    """Allow these types, and read a pass, which is not offered: an empty text is one."""
    return {**allow_values([*types, PASS]), UNOFFERED: [PASS]}


def _position(*positions: str) -> Row:
    return Row("position", is_needed=True, allow=lambda _: allow_values(positions))


TEXT: Final = Row("text", is_needed=True, allow=lambda _: allow_text(MAX_TEXT))
MAY_PASS: Final = Row(
    "text", is_needed=True, fill=lambda _: "", allow=lambda _: allow_line(MAX_TEXT)
)
"""A text that is empty where a seat passes."""
REMARK: Final = Row("text", allow=lambda _: allow_line(MAX_TEXT))
SAID: Final = replace(MAY_PASS, read=lambda _, answers: answers[person_steps.WORDS])
CHOICE: Final = Row(
    "choice",
    is_needed=lambda asked: bool(asked.listed),
    fill=lambda _: "",
    allow=lambda asked: allow_choice(asked.listed, MAX_CHOICE, is_open=asked.is_open),
    ask=lambda asked: [person_steps.ask_choice(asked.language, asked.for_people)],
    read=lambda _, answers: person_steps.read_choice(answers),
)
OWN_CHOICE: Final = Row("own_choice", allow=lambda _: allow_line(MAX_CHOICE))
"""An answer that is none of the listed ones, or none that is voted on, in a few words."""
OWN_POSITION: Final = replace(OWN_CHOICE, when=lambda asked: asked.is_open)
CONFIDENCE: Final[Row] = person_steps.CONFIDENCE_FIELD
REFERENCE: Final = Row(
    "refers_to", allow=lambda asked: allow_values([1, *(line.id for line in asked.visible)])
)
EVIDENCE: Final = Row("evidence", allow=lambda _: allow_list(allow_text(MAX_LINE), MAX_EVIDENCE))
ANSWERS: Final = Row(
    "answers",
    when=lambda asked: bool(asked.raised),
    allow=lambda asked: allow_list(allow_values(asked.raised), MAX_NAMED),
)
ACCEPTS: Final = replace(ANSWERS, name="accepts")
MOVED_BY: Final = Row(
    "moved_by",
    when=lambda asked: bool(asked.others),
    allow=lambda asked: allow_values(asked.others),
)
STATED: Final[Row] = Row("confidence", is_read_only=True)
"""A confidence that stands on the record where it is stated: it counts in the vote alone."""
HEADLINE: Final = Row("headline", allow=lambda _: allow_line(MAX_HEADLINE))
ACTIONS: Final = Row("actions")
WHO: Final = Row("who")
CONDITION_FIELD: Final = Row("condition", allow=lambda _: allow_text(MAX_LINE))
NEEDED_CONDITION: Final = replace(CONDITION_FIELD, is_needed=True)
DUE: Final = Row("due")
TO_USER: Final[Row] = replace(person_steps.TO_USER_FIELD, allow=allow_replies)
TO_USER_ASKED: Final = replace(TO_USER, ask=_ask_replies, read=_read_replies)
ADVICE: Final = (
    Row("entry", is_needed=True, allow=lambda asked: allow_values(asked.advice)),
    Row("why"),
    Row("how", is_needed=True),
)
CANDIDATE: Final = Row(
    "candidate", is_needed=True, allow=lambda asked: allow_values(asked.candidates)
)
VOTE: Final = (CANDIDATE, Row("position", is_needed=True), CONDITION_FIELD)
PLAIN_VOTE: Final = (CANDIDATE, _position(*UNCONDITIONAL), CONDITION_FIELD, Row("confidence"), DUE)
CONDITIONAL_VOTE: Final = (
    CANDIDATE,
    _position(CONDITIONAL),
    NEEDED_CONDITION,
    Row("confidence"),
    DUE,
)


def _form(kind: str, max_tokens: int) -> AnswerForm:
    infer = infer_vote_field if kind == "vote" else None
    return AnswerForm(
        kind=kind,
        reply=facts.Contributed,
        shape=facts.Contribution,
        form="json",
        max_tokens=max_tokens,
        infer=infer,
    )


def _ask_vote_confidence(asked: CouncilAsk) -> list[PersonStep]:
    return [
        person_steps.ask_confidence(
            asked.language, only_after=None if asked.candidates else (person_steps.POSITION, SIDES)
        )
    ]


def _ask_option(asked: CouncilAsk) -> list[PersonStep]:
    """Ask for the option that a person votes for, its condition if it has one, and the reason."""
    words = PERSON_STEPS[asked.language]
    step = replace(person_steps.ask_choice(asked.language, asked.voted), text=asked.text.vote_for)
    after = (person_steps.CHOICE, asked.voted)
    condition = PersonStep(
        name=CONDITION,
        text=asked.text.questions[CONDITION],
        only_after=after,
        if_empty=words.no_condition,
    )
    return [
        step,
        condition,
        person_steps.ask_due(asked.language),
        person_steps.ask_why(asked.language, is_long=True),
        person_steps.ask_confidence(asked.language, only_after=after),
    ]


def _allow_voted(asked: CouncilAsk) -> Schema:
    return allow_choice((*asked.voted, asked.none_of_these, ABSTAIN), MAX_CHOICE)


VOTE_CHOICE: Final = Row(
    "choice",
    is_needed=True,
    when=lambda asked: bool(asked.options),
    allow=_allow_voted,
    fill=lambda _: "",
    ask=_ask_option,
    read=lambda _, answers: person_steps.read_choice(answers),
)
"""Among options a vote is a choice, not an approval of texts; a seat that approves all the same is counted so."""
VOTE_FIELDS: Final = (
    replace(TEXT, is_needed=False, read=lambda _, answers: answers.get(WHY, "")),
    VOTE_CHOICE,
    Row(
        "ballot",
        is_needed=lambda asked: not asked.options,
        is_read_only=lambda asked: bool(asked.options),
        when=lambda asked: bool(asked.candidates),
        allow=lambda asked: _allow_ballot(asked, VOTE),
        ask=_ask_ballot,
        read=_read_ballot,
    ),
    replace(
        _position(*POSITIONS),
        is_needed=lambda asked: not asked.options,
        is_read_only=lambda asked: bool(asked.options),
        silence="abstain",
        when=lambda asked: not asked.candidates,
        ask=lambda asked: person_steps.ask_position(
            asked.language, POSITIONS, text=asked.text.vote
        ),
        read=lambda _, answers: answers[person_steps.POSITION],
    ),
    replace(
        CONDITION_FIELD,
        when=lambda asked: not asked.candidates or (bool(asked.options) and not asked.is_outside),
        read=lambda _, answers: answers.get(CONDITION, ""),
    ),
    replace(
        DUE,
        when=lambda asked: not asked.candidates or bool(asked.options),
        read=lambda _, answers: answers.get(person_steps.DUE, ""),
    ),
    replace(WHO, when=lambda asked: not asked.candidates or bool(asked.options)),
    replace(CONFIDENCE, ask=_ask_vote_confidence),
    replace(
        MOVED_BY, ask=_ask_moved_by, read=lambda _, answers: person_steps.read_moved_by(answers)
    ),
    replace(ACCEPTS, is_read_only=True),
    OWN_CHOICE,
    TO_USER,
)

NUMBER: Final[Row] = replace(
    person_steps.NUMBER_FIELD, allow=lambda asked: allow_estimate(asked.unit)
)
DECIDED_NUMBER: Final[Row] = replace(NUMBER, is_needed=False)
WORDED_CHOICE: Final = replace(CHOICE, when=lambda asked: not asked.wants_number)
"""A choice in words: an estimate stands in its place where the question asks for a number."""
FORMS: Final = index_by_kind(
    define_answer(
        _form("propose", 400),
        replace(_known_type("propose"), silence="pass"),
        replace(
            TEXT,
            ask=lambda asked: _ask_resolution(
                asked, asked.text.propose, PERSON_STEPS[asked.language].why
            ),
            read=_read_resolution,
        ),
        EVIDENCE,
        WORDED_CHOICE,
        OWN_POSITION,
        NUMBER,
        CONFIDENCE,
    ),
    define_answer(
        _form("argue", 300),
        replace(REFERENCE, ask=_ask_reference, read=_read_reference),
        replace(SAID, ask=lambda asked: [person_steps.ask_words(asked.text.say)]),
        EVIDENCE,
        Row(
            "type",
            is_needed=True,
            silence="pass",
            allow=lambda _: _offer_types(*PHASE_TYPES["argue"]),
            ask=_ask_side,
            read=lambda _, answers: answers[person_steps.POSITION],
        ),
        STATED,
        replace(ANSWERS, is_read_only=True),
        replace(ACCEPTS, is_read_only=True),
    ),
    define_answer(
        _form("answer", 300),
        replace(SAID, ask=lambda asked: [person_steps.ask_words(asked.text.answer)]),
        replace(
            ANSWERS,
            is_read_only=True,
            ask=_ask_whether_accepted,
            read=lambda asked, answers: _read_challenges(asked, answers, "no"),
        ),
        replace(ACCEPTS, read=lambda asked, answers: _read_challenges(asked, answers, "yes")),
        replace(EVIDENCE, is_read_only=True),
        STATED,
        _usual_type("support"),
    ),
    define_answer(
        _form("synthesize", 350),
        replace(
            MAY_PASS,
            ask=lambda asked: _ask_resolution(asked, asked.text.synthesize, asked.text.say_it),
            read=_read_resolution,
        ),
        HEADLINE,
        WORDED_CHOICE,
        OWN_POSITION,
        DECIDED_NUMBER,
        replace(CONFIDENCE, is_read_only=True),
        replace(ANSWERS, is_read_only=True),
        replace(ACCEPTS, is_read_only=True),
        TO_USER_ASKED,
        _usual_type("synthesize"),
    ),
    define_answer(
        _form("decide", 700),
        _known_type("synthesize"),
        Row(
            "taken",
            when=lambda asked: bool(asked.advice),
            allow=_allow_taken,
            ask=_ask_advice,
            read=_read_advice,
        ),
        replace(
            TEXT,
            ask=lambda asked: _ask_resolution(asked, asked.text.decide, asked.text.say_it),
            read=_read_resolution,
        ),
        HEADLINE,
        WORDED_CHOICE,
        OWN_POSITION,
        DECIDED_NUMBER,
        CONFIDENCE,
        ACTIONS,
        TO_USER_ASKED,
    ),
    define_answer(_form("vote", 200), replace(_known_type("vote"), silence="vote"), *VOTE_FIELDS),
    define_answer(_form("free", 400), _known_type("vote"), *VOTE_FIELDS),
    JUDGE_FORM,
    FACTS_FORM,
)
"""One table per phase, and `free` for unprompted contributions."""


def build_answer_schema(asked: CouncilAsk) -> Schema:
    if not asked.is_outside:
        return build_table_schema(facts.Contribution, FORMS[asked.ask.kind].fields, asked)
    offered = list_offered_types(asked.variant, asked.state, asked.ask.seat)
    forms = [
        build_table_schema(facts.Contribution, rows, asked)
        for each in offered
        for rows in _list_type_rows(asked, each)
    ]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def find_fills(asked: CouncilAsk) -> Mapping[str, object]:
    """Return what code knows of the answer: its type, where the phase has one, and that a pass needs no text."""
    if asked.is_outside:
        return {}
    fills = dict(FORMS[asked.ask.kind].find_fills(asked))
    # Where the question names its answers, one of them must be named.
    if asked.options and asked.ask.kind in {"propose", "synthesize", "decide"}:
        del fills["choice"]
    return fills


def _list_type_rows(asked: CouncilAsk, type_: facts.ContributionType) -> list[tuple[Row, ...]]:
    """Return the forms of one type from outside; a conditional vote has one of its own, because it needs its condition."""
    named = _type(type_)
    rest: tuple[Row, ...] = (CONFIDENCE, EVIDENCE, ANSWERS, ACCEPTS, MOVED_BY, TO_USER)
    if type_ == "pass":
        return [(named, REMARK)]
    if type_ == "vote":
        # With several candidates a bare position names the one that it is about.
        about = (
            replace(REFERENCE, is_needed=True, allow=CANDIDATE.allow)
            if asked.candidates
            else REFERENCE
        )
        rest = (*rest, OWN_CHOICE)
        plain = (named, _position(*UNCONDITIONAL), REMARK, about, *rest)
        conditional = (named, _position(CONDITIONAL), REMARK, about, NEEDED_CONDITION, *rest, DUE)
        chosen = (
            [(named, VOTE_CHOICE, REMARK, REFERENCE, CONDITION_FIELD, *rest, DUE)]
            if asked.options
            else []
        )
        if not asked.candidates:
            return [plain, conditional, *chosen]
        ballot = Row(
            "ballot",
            is_needed=True,
            allow=lambda asked: _allow_ballot(asked, PLAIN_VOTE, CONDITIONAL_VOTE),
        )
        return [(named, ballot, REMARK, REFERENCE, *rest), plain, conditional, *chosen]
    choice = (CHOICE, OWN_POSITION) if type_ in {"propose", "synthesize"} else ()
    is_decision = type_ == "synthesize" and asked.state.phase == "decide" and asked.advice
    taken = (Row("taken", is_needed=True, allow=_require_taken),) if is_decision else ()
    return [(named, TEXT, *taken, *choice, REFERENCE, *rest)]
