"""The answers of a swarm, field by field: what each may hold, what a person is asked for it, what silence means.

A person brings ideas, a word on a finding of another seat, checks and votes; figures are filled in by code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from moothall.domain.answer_table import (
    AnswerField,
    StateAsk,
    ask_person,
    define_answer,
    index_by_kind,
)
from moothall.domain.context import Utterance, extract_first_sentence
from moothall.domain.effects import AnswerForm, Ask, Schema
from moothall.domain.person import (
    CONDITION,
    WHY,
    Answers,
    PersonAsk,
    PersonChoice,
    PersonCommand,
    PersonStep,
    build_key,
)
from moothall.domain.safe_text import compile_late, one_line, quote_lines, quote_user
from moothall.domain.topic import MAX_LABEL_LENGTH
from moothall.errors import BadAnswer
from moothall.locale.catalogues import SWARM_PERSON, SwarmPersonText
from moothall.protocols.answer_judge import JUDGE_FORM
from moothall.protocols.facts_first import FACTS_FORM
from moothall.protocols.swarm import answers as shapes
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.findings_table import list_shown_ideas
from moothall.protocols.swarm.rules.endings import list_ballot, list_voted_answers
from moothall.protocols.swarm.rules.evidence import AnswerIndex, PossibleAnswer
from moothall.protocols.swarm.rules.operations import list_params
from moothall.protocols.swarm.rules.review import find_invitation
from moothall.protocols.swarm.state import Agent, Finding, Swarm
from moothall.reading import schemas
from moothall.reports import person_steps
from moothall.scoring.positions import VotePosition

HOLDS: Final = "holds"
DIRECTION: Final = "direction"
TARGET: Final = "target"
RATING: Final = "rating"
MAX_LINE: Final = 500
MAX_PERSPECTIVE: Final = 100
MAX_NEWS: Final = 16
MAX_IDEAS: Final = 24
OFFERED: Final = ("deposit_pheromone", "send_stop_signal", "claim_subtask", "transition_role")
"""What an explorer that Moot asks can do; a finding is one of its own accord, and code holds its state."""

_NUMBER = compile_late(r"\d{1,9}")


class SwarmAsk(StateAsk[Swarm]):
    @property
    def text(self) -> SwarmPersonText:
        return SWARM_PERSON[self.language]

    @property
    def is_open(self) -> bool:
        # Its answers are directions, in words of its own, but where the question names them.
        return bool(self.options) and super().is_open

    @property
    def is_outside(self) -> bool:
        """Whether its seat is an agent from outside, that is sent the messages of the source (S-37)."""
        return self.state.seat(self.ask.seat).is_outside

    @property
    def holdable(self) -> tuple[int, ...]:
        """The numbers of the ideas that the seat is shown and may stand behind."""
        if self.options or self.is_classic or self.is_outside:
            return ()
        return tuple(idea.number for idea in list_shown_ideas(self.state))

    @property
    def is_classic(self) -> bool:
        return self.state.settings.mode == "classic"

    @property
    def agent(self) -> Agent:
        return self.state.agents[self.ask.seat]

    @property
    def order(self) -> facts.RoundOrder:
        return self.state.orders[self.ask.seat]

    @property
    def usual_direction(self) -> str:
        """Where a person looks that names no direction."""
        order, own = self.order, self.agent.direction
        usual = own if own and not order.must_switch and not order.random else order.recommended
        return usual or order.perspective or extract_first_sentence(self.state.opened.topic)

    @property
    def shown_ideas(self) -> Mapping[int, str]:
        """The ideas that are held by anybody, the newest of them."""
        held = sorted({number for each in self.state.agents.values() for number in each.holds})
        newest = self.state.board.list_ideas(held[-MAX_IDEAS:])
        return {idea.number: idea.text for idea in newest}

    @property
    def targets(self) -> list[Finding]:
        """The findings that the seat is invited to speak to."""
        invitation = find_invitation(self.state, self.ask.seat)
        return self.list_findings(invitation.targets if invitation is not None else ())

    @property
    def checked(self) -> list[Finding]:
        return self.list_findings(self.state.review.to_check)

    @property
    def ballot(self) -> Mapping[int, PossibleAnswer]:
        """The answers that the seat votes on."""
        return list_ballot(self.state, self.ask.seat)

    @property
    def rated(self) -> Mapping[int, PossibleAnswer]:
        """Those that it rates: the ones that it has read itself."""
        return AnswerIndex(self.state).list_read(self.ask.seat) if self.state.by_evidence else {}

    def list_findings(self, numbers: Sequence[int]) -> list[Finding]:
        return [self.state.board.findings[number - 1] for number in numbers]


Row = AnswerField[SwarmAsk]


def _define_list(
    name: str,
    *items: Row,
    shape: type,
    of: type,
    ask: Callable[[SwarmAsk], list[PersonStep]] | None = None,
    read: Callable[[SwarmAsk, Answers], object] | None = None,
) -> Row:
    """Define a field that is a list of objects, as many as its shape may have."""

    def allow(asked: SwarmAsk) -> Schema:
        return {
            **schemas.build_schema(of)["properties"][name],
            "items": schemas.build_table_schema(shape, items, asked),
        }

    return Row(name, is_needed=True, allow=allow, ask=ask, read=read)


def _allow_operations(asked: SwarmAsk) -> Schema:
    kinds: dict[str, Any] = {}
    for name, each in (named for operation in OFFERED for named in list_params(operation).items()):
        # The reason of a stop signal, which has fixed values, stands for that of a role.
        kinds.setdefault(name, each.annotation)
    limits = {name: schemas.build_schema(kind).items() for name, kind in kinds.items()}
    # What is empty is refused by the blackboard, and not asked for once more.
    params: dict[str, Schema] = {
        name: {key: each for key, each in of if key != "minLength"} for name, of in limits.items()
    }
    params["amount"] = {"type": "number", "minimum": 0, "maximum": asked.state.settings.max_deposit}
    params["newRole"] = schemas.allow_values(get_args(facts.Role))
    operation = {
        "type": "object",
        "properties": {
            "operation": schemas.allow_values(OFFERED),
            "params": {"type": "object", "properties": params, "additionalProperties": False},
        },
        "required": ["operation", "params"],
        "additionalProperties": False,
    }
    return schemas.allow_list(operation, shapes.MAX_OPERATIONS)


def _ask_findings(asked: SwarmAsk) -> list[PersonStep]:
    text, shown = asked.text, asked.shown_ideas
    words = person_steps.offer_words(text.explore, if_empty=text.nothing_new)
    if not shown:
        return [words]
    holds = PersonStep(
        name=HOLDS,
        text=text.holds,
        kind="numbers",
        numbers=frozenset(shown),
        if_empty=_describe_held(asked),
    )
    return [words, holds]


def _describe_held(asked: SwarmAsk) -> str:
    """Return what naming no idea means: a person goes on holding what it has named before."""
    if not asked.agent.holds:
        return asked.text.none_held
    numbers = ", ".join(f"#{number}" for number in asked.agent.holds)
    return asked.text.still_held.format(numbers=numbers)


def _read_findings(asked: SwarmAsk, answers: Answers) -> list[Mapping[str, object]]:
    new = person_steps.split_lines(
        person_steps.join_long_choice(answers.get(person_steps.WORDS, ""), answers)
    )
    named = [int(number) for number in _NUMBER.findall(answers.get(HOLDS, ""))]
    ideas = asked.state.board.list_ideas(named or asked.agent.holds)
    held = [idea.text for idea in ideas]
    perspective = asked.order.perspective[:MAX_PERSPECTIVE]
    most = max(len(new), shapes.MAX_FINDINGS)
    return [_build_finding(text, perspective) for text in dict.fromkeys((*new, *held))][:most]


def _build_finding(text: str, perspective: str) -> Mapping[str, object]:
    # An idea of many words is named by its first sentence, and all of its words stay with it.
    if len(text) <= MAX_LINE:
        return {"coreIdea": text, "perspective": perspective}
    return {"coreIdea": extract_first_sentence(text), "details": text, "perspective": perspective}


def _ask_target(asked: SwarmAsk) -> list[PersonStep]:
    numbers = [each.number for each in asked.targets]
    if len(numbers) < 2:
        return []
    return [
        PersonStep(
            name=TARGET,
            text=asked.text.which,
            kind="reference",
            is_needed=True,
            numbers=frozenset(numbers),
        )
    ]


def _read_target(asked: SwarmAsk, answers: Answers) -> str:
    """Return the finding that was named; it is asked for wherever there are two."""
    number = int(answers[TARGET]) if TARGET in answers else asked.targets[0].number
    return asked.state.board.findings[number - 1].id


def _ask_verdicts(asked: SwarmAsk) -> list[PersonStep]:
    verdicts = {verdict: asked.text.verdicts[verdict] for verdict in get_args(shapes.CheckVerdict)}
    questions = {
        each.number: asked.text.check.format(seat=each.seat, text=one_line(each.core_idea))
        for each in asked.checked
    }
    return [
        step
        for number, question in questions.items()
        for step in person_steps.ask_which_and_why(asked.language, question, verdicts, str(number))
    ]


def _read_verdicts(asked: SwarmAsk, answers: Answers) -> list[Mapping[str, object]]:
    return [
        {
            "finding": each.id,
            "verdict": answers[build_key(person_steps.POSITION, str(each.number))],
            "reason": answers.get(build_key(WHY, str(each.number)), ""),
        }
        for each in asked.checked
    ]


def _ask_votes(asked: SwarmAsk) -> list[PersonStep]:
    rates = tuple(PersonChoice(value=value, text=text) for value, text in asked.text.rates.items())
    rated, voted, steps = asked.rated, list_voted_answers(asked.state), list[PersonStep]()
    for number, answer in asked.ballot.items():
        group, text = str(number), one_line(answer.text)
        if number in rated:
            steps.append(
                PersonStep(
                    name=RATING,
                    text=asked.text.rate.format(text=text),
                    choices=rates,
                    kind="option",
                    group=group,
                    if_empty=asked.text.not_rated,
                )
            )
        if number in voted:
            question = asked.text.vote.format(number=number, text=text)
            steps += person_steps.ask_position(
                asked.language, get_args(VotePosition), text=question, group=group, asks_due=False
            )
    return [*steps, person_steps.ask_confidence(asked.language)] if voted else steps


def _read_votes(asked: SwarmAsk, answers: Answers) -> list[Mapping[str, object]]:
    votes = list[Mapping[str, object]]()
    for number in asked.ballot:
        said = {
            name: answers.get(build_key(name, str(number)), "")
            for name in (person_steps.POSITION, CONDITION, RATING, WHY)
        }
        if not said[person_steps.POSITION] and not said[RATING]:
            continue
        rating = float(said[RATING]) if said[RATING] else None
        votes.append(
            {
                "answer": number,
                "position": said[person_steps.POSITION] or None,
                "condition": said[CONDITION],
                "confidence": person_steps.compute_confidence(answers),
                "rating": rating,
                "reason": said[WHY],
            }
        )
    if not votes:
        raise BadAnswer(asked.text.no_votes)
    return votes


def _offer_abstention(asked: SwarmAsk) -> tuple[PersonCommand, ...]:
    votes = [{"answer": number, "position": "abstain"} for number in asked.ballot]
    return (person_steps.offer_abstention(asked.language, {"votes": votes}),)


def _ask_synthesis(asked: SwarmAsk) -> list[PersonStep]:
    choice = [person_steps.offer_choice(asked.language, asked.options)] if asked.is_classic else []
    return [person_steps.ask_words(asked.text.synthesis), *choice]


def _read_synthesis(_: SwarmAsk, answers: Answers) -> str:
    # In the form in which everybody says it: the text is the whole answer.
    words = person_steps.join_long_choice(answers[person_steps.WORDS], answers)
    choice = person_steps.read_choice(answers)
    return f"{words}\n\n[CHOICE] {choice}" if choice else words


def _is_from_outside(asked: SwarmAsk) -> bool:
    return asked.is_outside


def _is_asked_plainly(asked: SwarmAsk) -> bool:
    return not asked.is_outside


REASON: Final = Row("reason", allow=lambda _: schemas.allow_line(MAX_LINE))
_OPTION: Final = Row(
    "option",
    when=lambda asked: bool(asked.options) and not asked.is_outside,
    allow=lambda asked: schemas.allow_values(asked.options),
)
_UNASKED: Final = tuple(
    Row(name, is_unasked=_is_asked_plainly)
    for name in ("perspective", "agreesWith", "needsValidation")
)
FINDING: Final = (
    _OPTION,
    Row("coreIdea", is_needed=True, allow=lambda _: schemas.allow_text(MAX_LINE)),
    Row("details"),
    Row("rating", is_unasked=_is_from_outside),
    *_UNASKED,
)

FORMS: Final = index_by_kind(
    FACTS_FORM,
    define_answer(
        AnswerForm(
            kind="explore",
            reply=facts.Reported,
            shape=shapes.RoundReport,
            form="json",
            max_tokens=1_500,
            looks_up=True,
        ),
        Row(
            "findings",
            is_needed=True,
            allow=lambda asked: schemas.allow_list(
                schemas.build_table_schema(shapes.StatedIdea, FINDING, asked), shapes.MAX_FINDINGS
            ),
            fill=lambda _: (),
            ask=_ask_findings,
            read=_read_findings,
        ),
        Row(
            "holds",
            when=lambda asked: bool(asked.holdable),
            allow=lambda asked: schemas.allow_list(
                schemas.allow_values(asked.holdable), len(asked.holdable)
            ),
        ),
        Row(
            "direction",
            is_unasked=_is_asked_plainly,
            ask=lambda asked: [
                PersonStep(
                    name=DIRECTION,
                    text=asked.text.direction,
                    if_empty=asked.text.usual_direction.format(usual=asked.usual_direction),
                )
            ],
            read=lambda asked, answers: (
                one_line(answers.get(DIRECTION, "")) or one_line(asked.usual_direction)[:MAX_LINE]
            ),
        ),
        # Only in the first round is an answer everyone's own.
        replace(
            person_steps.CHOICE_FIELD,
            when=lambda asked: asked.state.round == 1,
            is_needed=lambda asked: asked.is_open,
            fill=lambda _: "",
            allow=lambda asked: schemas.allow_choice(
                asked.listed, MAX_LABEL_LENGTH, is_open=asked.is_open
            ),
        ),
        Row(
            "ownChoice",
            when=lambda asked: asked.is_open and asked.state.round == 1,
            allow=lambda _: schemas.allow_line(MAX_LABEL_LENGTH),
        ),
        Row(
            "operations",
            is_unasked=_is_asked_plainly,
            when=lambda asked: not asked.is_classic,
            allow=_allow_operations,
        ),
    ),
    define_answer(
        AnswerForm(
            kind="collide",
            reply=facts.Collided,
            shape=shapes.Collision,
            form="json",
            max_tokens=500,
        ),
        Row(
            "targetFindingId",
            when=lambda asked: bool(asked.targets),
            allow=lambda asked: schemas.allow_values(each.id for each in asked.targets),
            ask=_ask_target,
            read=_read_target,
        ),
        Row(
            "content",
            is_needed=True,
            fill=lambda _: "",
            ask=lambda asked: [person_steps.ask_words(asked.text.say)],
            read=lambda _, answers: answers[person_steps.WORDS],
        ),
        Row("newInsights"),
        Row(
            "action",
            is_needed=True,
            silence="pass",
            ask=lambda asked: [person_steps.ask_which(asked.text.collide, asked.text.actions)],
            read=lambda _, answers: answers[person_steps.POSITION],
        ),
    ),
    define_answer(
        AnswerForm(
            kind="validate",
            reply=facts.Validated,
            shape=shapes.Validation,
            form="json",
            max_tokens=800,
            looks_up=True,
        ),
        _define_list(
            "verdicts",
            Row(
                "finding",
                is_needed=True,
                allow=lambda asked: schemas.allow_values(each.id for each in asked.checked),
            ),
            Row("reason"),
            Row("verdict", is_needed=True),
            shape=shapes.FindingCheck,
            of=shapes.Validation,
            ask=_ask_verdicts,
            read=_read_verdicts,
        ),
    ),
    define_answer(
        AnswerForm(
            kind="compare",
            reply=facts.Compared,
            shape=shapes.SimilarityReport,
            form="json",
            max_tokens=2_000,
        )
    ),
    define_answer(
        AnswerForm(
            kind="ballot",
            reply=facts.Voted,
            shape=shapes.SwarmBallot,
            form="json",
            max_tokens=600,
            is_whole=True,
        ),
        _define_list(
            "votes",
            Row("answer", is_needed=True, allow=lambda asked: schemas.allow_values(asked.ballot)),
            REASON,
            Row("rating"),
            Row("position", is_needed=True),
            Row("condition"),
            Row("confidence", is_unasked=lambda _: True),
            shape=shapes.AnswerVote,
            of=shapes.SwarmBallot,
            ask=_ask_votes,
            read=_read_votes,
        ),
        replace(person_steps.TO_USER_FIELD, allow=schemas.allow_replies),
    ),
    define_answer(
        AnswerForm(
            kind="synthesis",
            reply=facts.Synthesized,
            shape=shapes.Synthesis,
            form="text",
            max_tokens=1_200,
        ),
        Row("content", is_needed=True, ask=_ask_synthesis, read=_read_synthesis),
    ),
    define_answer(
        AnswerForm(
            kind="shutdown",
            reply=facts.Acknowledged,
            shape=shapes.ShutdownReply,
            form="json",
            max_tokens=50,
        ),
        # The end of the run needs no word of a person.
        Row("acknowledged", read=lambda _, answers: True),
    ),
    JUDGE_FORM,
)


def build_answer_schema(asked: SwarmAsk) -> Schema | None:
    """Return the schema of an ask in this state; None for the one of its shape."""
    if asked.ask.kind in {"synthesis", "shutdown"}:
        return None
    form = FORMS[asked.ask.kind]
    return schemas.build_table_schema(form.shape, form.fields, asked)


def build_wider_schema(asked: SwarmAsk) -> Schema | None:
    """Return the schema by which an answer is read that says more than it is asked for (S-39); None where nothing more counts."""
    if asked.ask.kind not in {"explore", "ballot"}:
        return None
    form = FORMS[asked.ask.kind]
    return schemas.build_reading_schema(form.shape, form.fields, asked)


def build_person_ask(state: Swarm, ask: Ask) -> PersonAsk:
    asked, form = SwarmAsk(state=state, ask=ask), FORMS[ask.kind]
    latest = state.board.findings[-MAX_NEWS:]
    match ask.kind:
        case "collide":
            lines = [
                quote_lines(f"{each.number}. {each.seat}: {_describe_finding(each)}")
                for each in asked.targets
            ]
            rows = form.pick_fields("action", "targetFindingId", "content")
            commands = (person_steps.offer_pass(asked.language, {"action": "pass"}),)
            return ask_person(
                rows, asked, about="\n".join([asked.text.findings, *lines]), commands=commands
            )
        case "ballot":
            return ask_person(form.fields, asked, commands=_offer_abstention(asked))
        case "validate" | "shutdown":
            return ask_person(form.fields, asked)
        case _:
            news = tuple(
                Utterance(id=each.number, speaker=each.seat, text=_describe_finding(each))
                for each in latest
            )
            about = "\n".join(_describe_order(asked)) if ask.kind == "explore" else ""
            return ask_person(form.fields, asked, about=about, news=news)


def _describe_order(asked: SwarmAsk) -> list[str]:
    text, order, shown = asked.text, asked.order, asked.shown_ideas
    lines = [text.classic.format(perspective=order.perspective)] if order.perspective else []
    if order.random:
        lines.append(text.random)
    elif order.must_switch:
        lines.append(text.switch)
    lines += [
        part for given in asked.state.open_inputs for part in (text.inputs, quote_user(given.text))
    ]
    ideas = [quote_lines(f"{number}. {one_line(idea)}") for number, idea in shown.items()]
    return [*lines, text.ideas, *ideas] if shown else lines


def _describe_finding(finding: Finding) -> str:
    return f"{finding.core_idea}\n{finding.details}" if finding.details else finding.core_idea
