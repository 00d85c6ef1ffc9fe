"""The metadata of a session's question: category, stakes, options, and the decisions that it builds on; the user's later words."""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Final, Literal, get_args

from annotated_types import Ge, MaxLen

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import (
    compile_late,
    fix_surrogates,
    one_line,
    shorten_text,
    strip_control,
)
from moothall.errors import BadSetting

Stakes = Literal["low", "medium", "high", "critical"]

QuestionKind = Literal["choice", "yes_no", "number", "forecast", "open"]
"""`choice`: one of several answers; `forecast`: yes or no, and it will be known; `open`: a text, such as a plan."""
FrameMaker = Literal["moot", "opener", "model"]
"""Who made a frame: code, by the words of the question; who opened the session; or one of its models."""

MAX_TOPIC_LENGTH: Final = 20_000
MAX_LABEL_LENGTH: Final = 100
MAX_LABELS: Final = 32
MAX_FILES: Final = 500
MAX_FILE_LENGTH: Final = 2_000_000
MAX_CONTEXT_LENGTH: Final = 4_000_000
"""Characters of the files that are given with a question; what a prompt has no room for is searched (`reports.given`)."""
MAX_PICTURES: Final = 8
MAX_PICTURE_SIZE: Final = 3_500_000
"""Bytes of one picture: in base64 it is what all providers take."""
MAX_PICTURES_SIZE: Final = 12_000_000
_PICTURES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
# Bounded, because it is searched in text from outside; also `[CHOICE: PostgreSQL]`, bold or behind a bullet.
_CHOICE: Final = compile_late(
    r"^[ \t*>-]{0,8}[\[【](?:choice|选择)(?:[\]】][ \t]{0,4}[:：]?|[:：])(?P<label>[^\n]{1,1000})$",
    re.IGNORECASE | re.MULTILINE,
)
_WRAPPED: Final = " \t*[]【】`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCorrelation:
    """The correlation of two seats' errors over the cases that they share: 0 independent, 1 always wrong together."""

    one: SeatId
    other: SeatId
    correlation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Precedent:
    """An earlier decision as the prompts show it (D-16): shortened texts, and how it had turned out when the session opened.

    `is_basis`: this session builds on it; else it is listed because its topic is similar. `date` is the day of the decision,
    `outcome` is "" while nobody has reported one, and `lesson` is the note of that report.
    """

    decision_id: str
    topic: str
    text: str
    date: str = ""
    outcome: str = ""
    lesson: str = ""
    is_basis: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedKind:
    """How often decisions of this protocol by one kind of agreement had proved right when the session opened."""

    agreement: str
    cases: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFile:
    """A file that was given with the question: data for every seat to read, never an instruction.

    The opening stores its name, size and hash; the text is stored once under its hash, however many sessions were given it.
    """

    name: str
    text: str = ""
    """Empty where the ledger at hand does not have it."""
    sha256: str = ""
    """Of the text in UTF-8, as hexadecimal digits."""
    size: int = 0
    """The bytes of the text."""
    original: str = ""
    """The hash of the file that the text was extracted from, where it was not text itself."""
    media: str = ""
    """Of a picture its type, such as `image/png`: then its text is the picture in base64, and its size that of the picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryTree:
    """A repository at a commit, whose files seats may read and search; its texts are in no ledger."""

    repository: str
    """The absolute path of its git directory."""
    commit: str
    """The whole hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Metadata recorded in the opening."""

    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """The possible answers, if they are known."""
    thread: str = ""
    built_on: tuple[str, ...] = ()
    """Earlier decisions that this one rests on."""
    error_correlations: tuple[ErrorCorrelation, ...] = ()
    """They discount seats that do not judge independently."""
    precedents: tuple[Precedent, ...] = ()
    """What memory tells the seats."""
    context: tuple[ContextFile, ...] = ()
    """Files that every seat may read."""
    pictures: tuple[ContextFile, ...] = ()
    """Pictures that models are sent."""
    unseen_by: tuple[str, ...] = ()
    """Seats that are sent no pictures, because they are no models of a provider."""
    left_out: tuple[str, ...] = ()
    """Files of a folder that could not be given, each with the reason."""
    reviewed: tuple[ReviewedKind, ...] = ()
    """The record that the depth is chosen by."""
    extremity: float = 1.0
    """How far a forecast is drawn away from a half, by the reviewed forecasts of its category."""
    again_of: str = ""
    """The session of the same question whose answer this one is compared with."""
    review_days: int = 0
    """After how many days it is to be said how the decision turned out; 0: nobody wants that."""

    @property
    def given(self) -> tuple[ContextFile, ...]:
        """Everything that was given with the question."""
        return (*self.context, *self.pictures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What kind of question a session asks, and its answers. The list of answers is open: "none of these" is always possible."""

    kind: QuestionKind
    answers: tuple[str, ...] = ()
    made_by: FrameMaker = "moot"
    model: str = ""
    """The model that made it, where one did."""
    added: tuple[str, ...] = ()
    """Those of the answers that a model lists and the question does not name."""
    assumes: str = ""
    """What the question takes for granted, in one sentence."""
    criteria: tuple[str, ...] = ()
    """What has to count, in the words of the question."""
    unit: str = ""
    """What a number is counted in, where the question says it."""


def validate_topic(topic: str) -> str:
    """Validate the question and return it; raises BadSetting."""
    question = fix_surrogates(topic).strip()
    if not question:
        raise BadSetting('the topic is empty; write a question, such as "Should we …?"')
    if len(question) > MAX_TOPIC_LENGTH:
        raise BadSetting(
            f"the topic has {len(question)} characters; the limit is {MAX_TOPIC_LENGTH}"
        )
    return question


def build_topic(
    *,
    category: str = "",
    stakes: str = "medium",
    tags: Iterable[str] = (),
    options: Iterable[str] = (),
    thread: str = "",
    built_on: Iterable[str] = (),
) -> Topic:
    """Validate the metadata and return it; raises BadSetting with what was expected."""
    if stakes not in get_args(Stakes):
        raise BadSetting(f"stakes = {stakes!r}; expected one of: {', '.join(get_args(Stakes))}")
    return Topic(
        category=_validate_label("category", category),
        stakes=stakes,  # type: ignore[arg-type]  # one of the literals, as just checked
        tags=_validate_labels("tag", tags),
        options=_validate_labels("option", options),
        thread=_validate_label("thread", thread),
        built_on=_validate_labels("decision built on", built_on),
    )


def build_context(given: Iterable[ContextFile]) -> tuple[ContextFile, ...]:
    """Validate the texts that are given with a question and return them with size and hash, each once; raises BadSetting."""
    files: dict[str, ContextFile] = {}
    for each in given:
        if each.media:
            continue
        name = one_line(fix_surrogates(each.name))[:MAX_LABEL_LENGTH] or "?"
        text = fix_surrogates(each.text)
        if not text.strip():
            raise BadSetting(f"the file {name!r} is empty; leave it out")
        if len(text) > MAX_FILE_LENGTH:
            raise BadSetting(
                f"the file {name!r} has {len(text)} characters; at most {MAX_FILE_LENGTH} are taken: give the part that matters"
            )
        raw = text.encode()
        file = ContextFile(
            name=name,
            text=text,
            sha256=sha256(raw).hexdigest(),
            size=len(raw),
            original=each.original,
        )
        if files.setdefault(name, file).sha256 != file.sha256:
            raise BadSetting(
                f"two files are called {name!r}; give one of them another name, so that a citation names one text"
            )
    if len(files) > MAX_FILES:
        raise BadSetting(f"{len(files)} files; at most {MAX_FILES} are taken")
    size = sum(len(each.text) for each in files.values())
    if size > MAX_CONTEXT_LENGTH:
        raise BadSetting(
            f"the files have {size} characters together; at most {MAX_CONTEXT_LENGTH} are taken"
        )
    return tuple(files.values())


def detect_picture(raw: bytes) -> str:
    """The type of a picture that models are sent, by how it begins; empty for anything else."""
    return next((media for head, media in _PICTURES if head.match(raw)), "")


def build_pictures(given: Iterable[ContextFile]) -> tuple[ContextFile, ...]:
    """Validate the pictures among what is given and return them with size and hash, each once; raises BadSetting."""
    pictures: dict[str, ContextFile] = {}
    for each in given:
        if not each.media:
            continue
        name = one_line(fix_surrogates(each.name))[:MAX_LABEL_LENGTH] or "?"
        try:
            raw = b64decode(each.text, validate=True)
        except ValueError:
            raw = b""
        media, size = detect_picture(raw), len(raw)
        if not media:
            raise BadSetting(f"the picture {name!r} is not a PNG, JPEG, GIF or WebP in base64")
        if size > MAX_PICTURE_SIZE:
            raise BadSetting(
                f"the picture {name!r} has {size} bytes; at most {MAX_PICTURE_SIZE} are taken: make it smaller"
            )
        hashes = (sha256(each.text.encode()).hexdigest(), sha256(raw).hexdigest())
        file = ContextFile(
            name=name, text=each.text, sha256=hashes[0], size=size, original=hashes[1], media=media
        )
        if pictures.setdefault(name, file) != file:
            raise BadSetting(f"two pictures are called {name!r}; give one of them another name")
    if (
        len(pictures) > MAX_PICTURES
        or sum(each.size for each in pictures.values()) > MAX_PICTURES_SIZE
    ):
        raise BadSetting(
            f"at most {MAX_PICTURES} pictures of {MAX_PICTURES_SIZE} bytes together are taken; give those that matter"
        )
    return tuple(pictures.values())


@lru_cache(maxsize=4_096)
def normalize_label(label: str) -> str:
    """Return the form in which choices are compared: without case, width, surrounding spaces and closing punctuation."""
    # NFKC folds full-width letters and punctuation, which Chinese input methods produce, into their ASCII forms.
    return " ".join(unicodedata.normalize("NFKC", one_line(label)).casefold().split()).strip(
        " .!?。！？,，;；:：'\"“”‘’()"
    )


def _validate_label(what: str, text: str) -> str:
    label = one_line(fix_surrogates(text))
    if len(label) > MAX_LABEL_LENGTH:
        raise BadSetting(
            f"the {what} {label[:40]!r}… has {len(label)} characters; at most {MAX_LABEL_LENGTH} are taken"
        )
    return label


def _validate_labels(what: str, texts: Iterable[str]) -> tuple[str, ...]:
    known: dict[str, str] = {}
    for text in texts:
        label = _validate_label(what, text)
        # A label of punctuation only normalizes to "": then the label itself is the key, so that "?" and "!" stay two labels.
        first = known.setdefault(normalize_label(label) or label, label)
        if what == "option" and first != label:
            raise BadSetting(
                f"the options {first!r} and {label!r} are the same; give them names that differ"
            )
    labels = tuple(known.values())
    if "" in labels:
        raise BadSetting(f"one {what} is empty")
    if len(labels) > MAX_LABELS:
        raise BadSetting(f"{len(labels)} of {what}; at most {MAX_LABELS} are taken")
    return labels


def extract_choice(text: str) -> str:
    """Return the answer in the last such line; empty if there is none, or if it is no label but an essay."""
    labels = [match["label"] for match in _CHOICE.finditer(text)]
    label = one_line(labels[-1]).strip(_WRAPPED) if labels else ""
    return label if len(label) <= MAX_LABEL_LENGTH else ""


def drop_choice(text: str) -> str:
    """Return a text without such lines, and without those of its headline."""
    return _HEADLINE.sub("", _CHOICE.sub("", text)).strip()


_HEADLINE: Final = compile_late(
    r"^[ \t*>-]{0,8}[\[【](?:headline|标题)(?:[\]】][ \t]{0,4}[:：]?|[:：])(?P<text>[^\n]{1,1000})$",
    re.IGNORECASE | re.MULTILINE,
)
"""How a text says what it decides in one sentence: a line `[HEADLINE] …`."""
MAX_HEADLINE: Final = 300


def extract_headline(text: str) -> str:
    """Return the sentence in the last such line; empty if there is none, or if it is no sentence but an essay."""
    lines = [match["text"] for match in _HEADLINE.finditer(text)]
    if not lines:
        return ""
    headline = one_line(lines[-1]).strip(_WRAPPED)
    return headline if len(headline) <= MAX_HEADLINE else ""


MAX_INPUTS: Final = 20
"""How many inputs of the user a state keeps: the newest."""
MAX_INPUT_LENGTH: Final = 6_000
"""How much of one input a prompt shows."""
MAX_REPLIES: Final = 20
MAX_REPLY_LENGTH: Final = 2_000
_REPLY: Final = compile_late(
    r"^[ \t]*(?:[*>-][ \t]+)?\*{0,2}[\[【](?:answer|答复)[ \t]*[#＃]?(?P<number>\d{1,6})[\]】]\*{0,2}[ \t]*[:：]?[ \t]*"
    r"(?P<text>[^\n]{1,2000})$",
    re.IGNORECASE | re.MULTILINE,
)
"""How a text answers an input of the user: a line `[ANSWER #2] …`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInput:
    """What the user added. `number` is what prompts and answers call it, `seq` the ledger entry that holds it."""

    number: int
    seq: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReply:
    """What a result answers to an input of the user."""

    input: Annotated[int, Ge(1)]
    text: Annotated[str, MaxLen(MAX_REPLY_LENGTH)]


MAX_ACTIONS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionItem:
    """Something that a decision asks to be done."""

    who: Annotated[str, MaxLen(100)] = ""
    """Who does it; empty where nobody is named."""
    text: Annotated[str, MaxLen(2_000)]
    due: Annotated[str, MaxLen(100)] = ""
    """By when; empty where that was not said."""


def describe_action(action: ActionItem) -> str:
    """Return an action item on one line: who, what, by when."""
    text = one_line(action.text)
    if action.who:
        text = f"{one_line(action.who)}: {text}"
    if action.due:
        text = f"{text} ({one_line(action.due)})"
    return text


ActionItems = Annotated[tuple[ActionItem, ...], MaxLen(MAX_ACTIONS)]
Headline = Annotated[str, MaxLen(300)]
"""A decision in one sentence that answers the question. 120 characters are asked for."""

InputReplies = Annotated[tuple[UserReply, ...], MaxLen(MAX_REPLIES)]


def add_input(
    inputs: tuple[UserInput, ...], number: int, seq: int, text: str
) -> tuple[UserInput, ...]:
    """Return the inputs with one more."""
    shown = shorten_text(strip_control(text), MAX_INPUT_LENGTH)
    return (*inputs, UserInput(number=number, seq=seq, text=shown))[-MAX_INPUTS:]


def list_input_numbers(inputs: Iterable[UserInput]) -> str:
    """Return the numbers of inputs as a prompt names them: `#4 #7`."""
    return " ".join(f"#{each.number}" for each in inputs)


def read_replies(text: str) -> tuple[UserReply, ...]:
    """Return what a text answers to inputs of the user, in its lines `[ANSWER #2] …`."""
    replies = []
    for match in _REPLY.finditer(text):
        reply = one_line(match["text"])
        if reply and int(match["number"]) > 0:
            replies.append(UserReply(input=int(match["number"]), text=reply))
    return tuple(replies[:MAX_REPLIES])


def drop_replies(text: str) -> str:
    """Return a text without its lines `[ANSWER #2] …`; a text that is nothing else stays as it is."""
    return _REPLY.sub("", text).strip() or text


def join_replies(said: Iterable[tuple[SeatId, Iterable[UserReply]]]) -> Mapping[int, str]:
    """Return what several seats answer to each input, each with its name."""
    texts: dict[int, list[str]] = {}
    for seat, replies in said:
        for number, text in index_replies(replies).items():
            texts.setdefault(number, []).append(f"{seat}: {text}")
    return {number: " · ".join(each) for number, each in texts.items()}


def index_replies(replies: Iterable[UserReply]) -> Mapping[int, str]:
    """Return the words to each input by its number; of two the first."""
    answers: dict[int, str] = {}
    for reply in replies:
        if reply.text.strip():
            answers.setdefault(reply.input, reply.text)
    return answers
