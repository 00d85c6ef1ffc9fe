"""The table of an answer: for each of its fields what it may hold, what a person is asked for it, and what stands for silence.

A protocol has one table for each kind of ask. The JSON schema of one ask (`moothall.reading.schemas.build_table_schema`), its
description in the prompt, the questions to a person, what code fills in, and the answer of a seat that says nothing follow from
it. Every function in a table takes the ask together with the state in which it is answered; each protocol has a type of its own
for that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, fields, replace
from typing import Any, Final, Generic, TypeVar

from moothall.domain.context import ContextWindow, Perception, Utterance
from moothall.domain.dictionaries import group_pairs
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Schema
from moothall.domain.facts import Language
from moothall.domain.frame import is_either_or
from moothall.domain.person import Answers, PersonAsk, PersonCommand, PersonStep
from moothall.domain.prompt_parts import build_system_text, describe_number, is_open_list
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.safe_text import quote_lines, quote_user, shorten_text
from moothall.domain.session_state import ProtocolState
from moothall.domain.topic import list_input_numbers
from moothall.locale.catalogues import PARTICIPANT_PROMPT

Asked = TypeVar("Asked")
"""An ask and the state in which it is answered."""

T = TypeVar("T")

NOT_GIVEN: Final = object()
CONDITIONAL: Final = "conditional_support"

S = TypeVar("S", bound=ProtocolState)

_OF_RULES: Final = tuple(each.name for each in fields(AnswerRules))


@dataclass(frozen=True, kw_only=True)
class StateAsk(Generic[S]):
    """An ask together with the state of its protocol."""

    state: S
    ask: Ask

    @property
    def language(self) -> Language:
        return self.state.opened.language

    @property
    def options(self) -> tuple[str, ...]:
        return self.state.opened.subject.options

    @property
    def is_open(self) -> bool:
        """Whether its answers are listed, and one may name another (Q-2)."""
        return is_open_list(self.state)

    @property
    def listed(self) -> tuple[str, ...]:
        """What a choice is one of; the last one stands for an answer of one's own."""
        if not self.is_open:
            return self.options
        frame = self.state.opened.frame
        answers = self.options if frame is None else frame.answers
        return (*answers, self.none_of_these)

    @property
    def wants_number(self) -> bool:
        """Whether a position is a number (Q-12)."""
        frame = self.state.opened.frame
        return frame is not None and frame.kind == "number"

    @property
    def unit(self) -> str:
        """What that number is counted in; "" where the question does not say it."""
        frame = self.state.opened.frame
        return "" if frame is None else frame.unit

    @property
    def none_of_these(self) -> str:
        """What stands in a list for an answer of one's own."""
        return PARTICIPANT_PROMPT[self.language].none_of_these

    @property
    def for_people(self) -> tuple[str, ...]:
        """What a person is offered; a yes or a no it writes itself."""
        return self.listed if self.options else ()

    @property
    def alternatives(self) -> tuple[str, ...]:
        return list_alternatives(self.state)


def list_alternatives(state: ProtocolState) -> tuple[str, ...]:
    """Return the listed answers of a question that neither yes nor no answers; none of any other (Q-2)."""
    answers = state.opened.subject.options
    return answers if is_either_or(answers) else ()


def fill_brief(
    state: ProtocolState,
    ask: Ask,
    rules: AnswerRules,
    *,
    own: str,
    system: str = "",
    perception: Perception | None = None,
    **more: Any,
) -> Brief:
    """Return the brief of a seat: how its answer is read, the question, and what the protocol says itself.

    The system text, which says what the marks of quoted lines mean, is one for all protocols; `system` stands behind it. The
    user's words that nobody has answered stand in every prompt (Q-8).
    """
    opened = state.opened
    seen = perception or Perception(goal=opened.topic, memory=ContextWindow(window=1))
    if more.get("chore") is None:
        shared_text = build_system_text(opened.language)
        if system:
            shared_text += PARTICIPANT_PROMPT[opened.language].between + system
        system = shared_text
        added = quote_open_inputs(state)
        if added:
            own = f"{added}\n\n{own.removeprefix(chr(10))}"
    frame = opened.frame
    if frame is not None and frame.kind == "number":
        more["hints"] = {**more.get("hints", {}), "number": describe_number(state)}
    own += _quote_premise(state, more.get("schema"))
    # Not `copy_fields`, which looks for the fields of any two classes: a brief is built for every ask.
    same: dict[str, Any] = {"nth": 1, **{name: getattr(rules, name) for name in _OF_RULES}, **more}
    return Brief(
        ask=ask,
        seat=state.seat(ask.seat),
        language=opened.language,
        seed=opened.seed,
        perception=seen,
        system=system,
        own=own,
        **same,
    )


def _quote_premise(state: ProtocolState, schema: Schema | None) -> str:
    """Return what the question takes for granted, where an answer is chosen: who denies it answers none of these (Q-1)."""
    frame, words = state.opened.frame, PARTICIPANT_PROMPT[state.opened.language]
    if frame is None or not frame.assumes or schema is None:
        return ""
    chosen = schema.get("properties", {}).get("choice", {})
    if words.none_of_these not in chosen.get("enum", ()):
        return ""
    # A model wrote it: it is quoted as everybody's words are.
    return f"\n{words.premise}\n{quote_lines(frame.assumes)}"


MAX_WORDS_SHOWN: Final = 12_000
"""How many characters of the user's later words a prompt shows in all."""
MIN_WORDS_SHOWN: Final = 800


def ask_for_replies(state: ProtocolState) -> str:
    """Return what asks a text of free form for an answer to each of the user's later words; "" where there is none."""
    if not state.open_inputs:
        return ""
    words = PARTICIPANT_PROMPT[state.opened.language]
    return words.reply_lines.format(inputs=list_input_numbers(state.open_inputs))


def quote_open_inputs(state: ProtocolState) -> str:
    """Return the section of a prompt with what the user added and nobody has answered yet; "" where there is nothing."""
    inputs = state.open_inputs
    if not inputs:
        return ""
    words = PARTICIPANT_PROMPT[state.opened.language]
    shown = inputs[-(MAX_WORDS_SHOWN // MIN_WORDS_SHOWN) :]
    room = max(MIN_WORDS_SHOWN, MAX_WORDS_SHOWN // len(shown))
    lines = [words.from_user, words.counts_now]
    for each in shown:
        lines.append(f"[#{each.number}]\n{quote_user(shorten_text(each.text, room))}")
    return "\n".join(lines)


def read_two_sides(
    path: str, items: Sequence[T], number: str, side: str, neither: str | None
) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """Take no side where a list gives one number two of them; with a note for each item that this changes.

    A schema cannot forbid it, and which of the two is meant, only their author could say. Support, once on a condition and once
    without, is one side: the condition stands.
    """
    read, notes = list[Any](items), list[str]()
    groups = group_pairs((getattr(each, number), each) for each in items)
    for at, each in enumerate(read):
        sides = {
            getattr(other, side): other
            for other in groups[getattr(each, number)]
            if getattr(other, side) is not None
        }
        given, changes = getattr(each, side), dict[str, object]()
        if sides.keys() == {"support", CONDITIONAL} and given == "support":
            changes = {side: CONDITIONAL, "condition": getattr(sides[CONDITIONAL], "condition", "")}
        elif (
            len(sides) > 1
            and sides.keys() != {"support", CONDITIONAL}
            and given not in {neither, None}
        ):
            changes = {side: neither}
        if changes:
            read[at] = replace(each, **changes)
            notes.append(f"read {path}.{at}.{side} {given!r} → {changes[side]!r}")
    return tuple(read), tuple(notes)


# Without slots: a generic dataclass with slots cannot be called by its parametrized name.
@dataclass(frozen=True)
class AnswerField(Generic[Asked]):
    """One field of an answer."""

    name: str
    """Its name in JSON."""

    _: KW_ONLY

    is_needed: bool | Callable[[Asked], bool] = False
    """Whether an answer must have it."""

    is_hidden: bool = False
    """Whether it is left out of the schema, because only code fills it."""

    is_unasked: Callable[[Asked], bool] | None = None
    """Whether this ask does not ask for it and reads it where it is sent all the same."""

    is_read_only: bool | Callable[[Asked], bool] = False
    """The same, with its place in the schema by which an answer is read."""

    when: Callable[[Asked], bool] | None = None
    """Whether this ask has the field; None if every one has it."""

    allow: Callable[[Asked], Schema] | None = None
    """Builds the JSON schema of what it may hold in this ask; None if the limits of the shape say it all."""

    fill: Callable[[Asked], object] | None = None
    """Returns what code puts into it where an answer leaves it out."""

    silence: object = NOT_GIVEN
    """What it holds in an answer that says nothing."""

    ask: Callable[[Asked], Sequence[PersonStep]] | None = None
    """Builds the questions to a person; None if a person is not asked for it."""

    read: Callable[[Asked, Answers], object] | None = None
    """Returns what a person's answers put into it; None if they put nothing into it."""

    def is_part(self, asked: Asked) -> bool:
        """Whether this ask has the field."""
        return self.when is None or self.when(asked)


@dataclass(frozen=True, kw_only=True)
class AnswerTable(AnswerForm, Generic[Asked]):
    """An answer, field by field, in the order of its JSON."""

    fields: tuple[AnswerField[Asked], ...] = ()

    def pick_fields(self, *names: str) -> list[AnswerField[Asked]]:
        """Return these fields in this order: a person may be asked in another one than that of the JSON."""
        return [next(field for field in self.fields if field.name == name) for name in names]

    def put_first(self, *names: str) -> list[AnswerField[Asked]]:
        """Return all fields, these first and in this order."""
        return [
            *self.pick_fields(*names),
            *(field for field in self.fields if field.name not in names),
        ]

    def find_fills(self, asked: Asked) -> Mapping[str, object]:
        """Return what code puts into fields that an answer leaves out."""
        return {field.name: field.fill(asked) for field in self.fields if field.fill is not None}


def define_answer(form: AnswerForm, *rows: AnswerField[Asked]) -> AnswerTable[Asked]:
    """Build the table of an answer. It can be silent if each field that its shape needs has a value for that."""
    silence = tuple((row.name, row.silence) for row in rows if row.silence is not NOT_GIVEN)
    needed = {
        field.name
        for field in fields(form.shape)
        if field.default is MISSING and field.default_factory is MISSING
    }
    can_be_silent = needed <= {name for name, _ in silence}
    return copy_fields(AnswerTable, form, silence=silence if can_be_silent else None, fields=rows)


def index_by_kind(*tables: AnswerTable[Asked]) -> Mapping[str, AnswerTable[Asked]]:
    """Return the tables by the kind of their ask."""
    return {table.kind: table for table in tables}


def ask_person(
    rows: Sequence[AnswerField[Asked]],
    asked: Asked,
    *,
    intro: str = "",
    about: str = "",
    news: tuple[Utterance, ...] = (),
    commands: tuple[PersonCommand, ...] = (),
    keeps_for: str = "",
) -> PersonAsk:
    """Build what a person is asked for these fields, in this order, and how its answers become the answer of the seat."""

    def build(answers: Answers) -> Mapping[str, object]:
        return {
            row.name: row.read(asked, answers)
            for row in rows
            if row.read is not None and row.is_part(asked)
        }

    steps: list[PersonStep] = []
    for row in rows:
        if row.ask is not None and row.is_part(asked):
            steps.extend(row.ask(asked))
    return PersonAsk(
        build=build,
        steps=tuple(steps),
        intro=intro,
        about=about,
        news=news,
        commands=commands,
        keeps_for=keeps_for,
    )
