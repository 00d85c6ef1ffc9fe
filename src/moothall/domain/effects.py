"""The rulebook port, and effects: a protocol is a set of pure functions over the facts of a ledger, which return what they want
done. The engine carries it out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal, Protocol, TypeVar

from moothall.domain.budget import ToolRules
from moothall.domain.consult import ConsultRequest
from moothall.domain.context import Perception
from moothall.domain.facts import Entry, Fact, Language, Opened, ReadingRule, Reply, ToolUsed
from moothall.domain.ids import AskId, SeatId
from moothall.domain.person import PersonAsk
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.domain.topic import ContextFile, RepositoryTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask one seat for one kind of answer within `patience` seconds.

    The session does not wait for an `invited` ask: an outside seat may answer it unprompted, and no participant is called for it.
    A `firm` ask applies its own patience to outside seats as well. `first` is a consultation that the seat must have before it
    answers, if the session allows consultations. `timed_by` is the setting that says how patient the protocol is, if one does.
    """

    id: AskId
    seat: SeatId
    kind: str
    turn: int
    patience: float
    invited: bool = False
    first: ConsultRequest | None = None
    firm: bool = False
    timed_by: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Append a fact that follows from the state alone; nobody is asked for it."""

    fact: Fact


Effect = Ask | Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What may be given in place of an answer, and the fact that stores it.

    In JSON it is an object with this one field; `shape.from_text` parses it from plain text and returns None for any other text.
    """

    field: str
    reply: type[Reply]
    shape: type


ReadWord = Callable[[str], str | None]
"""Returns the listed word that a text means; None if it means none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadItem:
    """An item of a list in an answer that could not be read."""

    given: object
    why: str


KeepUnread = Callable[[Any, Sequence[UnreadItem]], object]
"""Returns an answer together with what of it could not be read."""

InferField = Callable[[str, Mapping[str, object]], object | None]
"""Returns the value of a field, by its name and the fields that were given; None if they do not say it."""


LENGTH_ROOM: Final = 4
"""How many times as long as asked for an answer may be before it is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form of one kind of answer."""

    kind: str
    """The kind of ask that it answers."""

    reply: type[Reply]
    """The fact that stores it."""

    shape: type
    """The dataclass that it is read into."""

    form: Literal["text", "json"]
    """Whether it is plain text or JSON."""

    max_tokens: int
    """How many tokens an answer of the length that its prompt asks for has at most."""

    instead: Alternative | None = None
    """What may be given in its place."""

    looks_up: bool = False
    """Whether a seat may look things up first, where there is something to look them up with."""

    silence: tuple[tuple[str, object], ...] | None = None
    """The fields of an answer that says nothing; None if there is no such answer."""

    infer: InferField | None = None
    """Finds a needed field that was not given in those that were; words without fields are under ""."""

    readers: tuple[tuple[str, ReadWord], ...] = ()
    """Names of fields, each with what reads the words that people write in place of its listed ones."""

    asides: frozenset[str] = frozenset()
    """Fields that decline no answer, whatever they say: quotations, and a reason beside a choice."""

    keep_unread: KeepUnread | None = None
    """Puts the items of a list that could not be read on the record, where the rest of the answer counts without them."""

    is_asked_once: bool = False
    """Whether a model is sent one request, and no other after a failure."""

    is_whole: bool = False
    """Whether an item of a list that cannot be read is asked for again, and not left out: without it the rest says less."""


Schema = Mapping[str, Any]
"""A JSON schema."""

Normalized = tuple[object, tuple[str, ...]]
"""An answer, and what was changed in it."""


def keep_answer(said: object) -> Normalized:
    """Change nothing: the default."""
    return said, ()


def no_fault(said: object) -> str | None:
    """Accept every answer: the default for answers that their shape validates completely."""
    return None


OWN_MEASURES: Final = ("meaning", "words")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareTexts:
    """Texts to compare: each new text with all known ones and with the new ones before it.

    `nearest` is how many of the nearest texts are reported for each new one, however far they are. `by` is the measure, one of
    Moot's own or a plugin's; that of meaning gives way to that of words where its package is not installed.
    """

    known: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    nearest: int = 0
    by: str = "meaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """How the answer to an ask is read, without the prompt that asks for it."""

    form: AnswerForm

    fault: Callable[[object], str | None] = no_fault
    """Returns what is wrong with an answer of the right shape, or None."""

    person: Callable[[], PersonAsk] | None = None
    """Builds what a person is asked in place of the prompt; without it the questions are derived from the schema.

    Called only where a person is asked, or words are read: briefs for models do not pay for it.
    """

    fills: Mapping[str, object] = field(default_factory=dict)
    """Fields that code knows."""

    normalize: Callable[[object], Normalized] = keep_answer
    """Brings an answer of the right shape into line with the state, and notes what it changed."""

    reading: ReadingRule = "lenient"
    """Whether a choice may be taken from a sentence."""

    options: tuple[str, ...] = ()
    """What its `choice` is one of: a text beside it that names another one is asked about."""

    is_open: bool = False
    """Whether its `choice` may be none of the options, in words of its own."""

    alternatives: tuple[str, ...] = ()
    """The listed answers, where yes is none: a seat whose answer names none of them is asked once which one it means (Q-2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccess:
    """What a seat may look up for one ask: these files and no others, within these rules; `used` is what it did already."""

    names: tuple[str, ...]
    """Which tools it has."""
    files: tuple[ContextFile, ...]
    rules: ToolRules
    used: tuple[ToolUsed, ...] = ()
    session_uses: Sequence[ToolUsed] = ()
    """What all seats have looked up so far, while the ask is answered as well."""
    tree: RepositoryTree | None = None
    """The repository that `read` and `search` are about, in place of the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief(AnswerRules):
    """Everything that a participant receives with an ask.

    The prompt is `system`, then `shared` (equal for all seats), then `own`. `probe` is a yes-or-no question; the probability of
    its answer can replace the full answer. `subject` is the text that the answer is about. `again` counts how often this same
    question was asked before. `schema` narrows the form of the answer to this one ask; None leaves it as the shape is. `hints`
    says in words what a field holds. `chore` is work that Moot itself does, where no participant is asked: a file to write, texts
    to compare. `shows_given`: it shows itself what was given with the question, or a part of that.
    """

    ask: Ask
    seat: Seat
    language: Language
    seed: int
    nth: int
    perception: Perception
    # Equal text comes first, so that providers can reuse their prompt cache across the seats of one turn.
    system: str
    shared: str
    own: str
    probe: str = ""
    subject: str = ""
    again: int = 0
    chore: object = None
    schema: Schema | None = None
    reads: Schema | None = None
    """The schema by which its answer is read, where it may say more than it is asked for; None for `schema`."""
    hints: Mapping[str, str] = field(default_factory=dict)
    explains_fields: bool = False
    """Whether its words say what each field of the answer is for: then the form only names them."""
    tools: ToolAccess | None = None
    """What the seat may look up; None where it may not."""
    shows_given: bool = False
    pictures: tuple[ContextFile, ...] = ()
    """What a model that takes pictures is sent with the prompt."""


S = TypeVar("S")


class Rulebook(Protocol[S]):
    """The rules of one protocol. `decide` reads only the state, so that a restarted engine gets the same effects again.

    A rulebook may also have `answer_rules(state, ask) -> AnswerRules`: the part of its brief by which an answer is read. Then an
    answer that comes from outside costs no prompt.
    """

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> Mapping[str, type[Fact]]:
        """The protocol's own facts by their stored names."""
        ...

    @property
    def forms(self) -> Mapping[str, AnswerForm]:
        """The kinds of answers that the protocol asks for."""
        ...

    def initial(self, opened: Opened) -> S: ...

    def evolve(self, state: S, entry: Entry) -> S:
        """Return the state after one more entry. Never raises, whatever the entry holds."""
        ...

    def decide(self, state: S) -> tuple[Effect, ...]: ...

    def brief(self, state: S, ask: Ask) -> Brief: ...


def fold(rules: Rulebook[S], opened: Opened, entries: Iterable[Entry]) -> S:
    """Return the state after the opening and these entries."""
    state = rules.initial(opened)
    for entry in entries:
        state = rules.evolve(state, entry)
    return state
