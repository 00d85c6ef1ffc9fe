"""The participant port: what fills a seat, what bounds its requests, and the measure of similarity that seats share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, runtime_checkable

from moothall.domain.budget import FREE, Usage
from moothall.domain.causes import state_cause
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Loss, ToolUsed
from moothall.domain.replace import dataclass
from moothall.errors import UnclearChoice

OnText = Callable[[str], None]

OnWaiting = Callable[[bool], None]
"""Called when a participant begins and ends to wait for its turn at a provider."""
ON_WAITING: ContextVar[OnWaiting | None] = ContextVar("moot_on_waiting", default=None)
ON_RETRY: ContextVar[Callable[[], None] | None] = ContextVar("moot_on_retry", default=None)
"""Called when a participant tries again to get an answer."""

Meter = Callable[[], Usage]
"""Returns what an answer has cost so far, with an estimate of the request that is under way."""
ON_METER: ContextVar[Callable[[Meter], None] | None] = ContextVar("moot_on_meter", default=None)
"""Receives the meter of an answer before its first request: the caller can call it off and still say what it cost."""

ON_TOOL: ContextVar[Callable[[ToolUsed], None] | None] = ContextVar("moot_on_tool", default=None)
"""Receives each use of a tool, as soon as it is over."""

ASKED_IN: ContextVar[str] = ContextVar("moot_asked_in", default="")
"""The session whose ask is being answered; "" where nobody is asked."""
NO_ANSWER: Final = state_cause("deadline")
"""Why a seat was lost whose time was over, where its participant says nothing better."""
CAPACITY_SHARE = 0.1
"""How much of a minute's allowance may be spent at once. The rest flows in evenly: no minute has more than the allowance."""
PLACE_SECONDS = 5.0
"""How long a session keeps its place at a provider after a call: its next call follows, as long as nobody is waited for."""


@contextmanager
def note_waiting() -> Iterator[None]:
    """While a participant waits for its turn at a provider: that time is not the seat's, and its deadline moves by it."""
    listener = ON_WAITING.get()
    if listener is not None:
        listener(True)
    try:
        yield
    finally:
        if listener is not None:
            listener(False)


def note_retry() -> None:
    """Say that the answer is tried for again, after a failure that may pass."""
    report = ON_RETRY.get()
    if report is not None:
        report()


def note_meter(meter: Meter) -> None:
    """Say how to learn what the answer costs, also while it is not there yet."""
    receive = ON_METER.get()
    if receive is not None:
        receive(meter)


def note_tool(used: ToolUsed) -> None:
    """Have the use of a tool recorded: before the answer that rests on it."""
    record = ON_TOOL.get()
    if record is not None:
        record(used)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in the requested shape."""

    said: object
    usage: Usage = FREE
    corrections: tuple[str, ...] = ()
    """What was changed to read it."""
    model: str = ""
    """The model that answered, as its provider names it."""
    origin: str = ""
    """The door it came in through where that is not the seat's platform itself: `program:NAME`, `local:USER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """The reason why there is no answer. A value and not an exception, because it is expected to happen.

    `unreachable` (and `rejected_key`) is an outage: the participant could not be asked at all, and may be back later. Where
    outages leave too few seats, the session parks and asks again when it is resumed; any other reason is a loss.
    """

    reason: Loss
    detail: str = ""
    """Why, in one sentence. One of `state_cause` is put into the language of the session; any other is a quotation."""
    usage: Usage = FREE


class UnclearAnswer(UnclearChoice):
    """An answer that makes no choice plainly, with what it has cost: its participant is asked which one was meant."""

    def __init__(
        self,
        unclear: UnclearChoice,
        usage: Usage = FREE,
        *,
        model: str = "",
        origin: str = "",
        corrections: tuple[str, ...] = (),
    ) -> None:
        """`corrections` are the participant's own, beside those of the reading."""
        super().__init__(
            str(unclear),
            field=unclear.field,
            choices=unclear.choices,
            words=unclear.words,
            raw=unclear.raw,
        )
        self.loss = unclear.loss
        self.usage = usage
        self.model = model
        self.origin = origin
        self.corrections = corrections


class Participant(Protocol):
    """Something that answers briefs. The caller sets the deadline and cancels."""

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        """Return an answer in `brief.form.shape`; `on_text` receives plain text while it is produced.

        May raise UnclearChoice for one that makes no choice plainly: it is asked which one it meant. May raise BadAnswer for
        one that cannot be read: its seat is lost with that reason. Whatever else is raised is an `error`.
        """

    async def ready(self) -> str | None:
        """Return what prevents this participant from working, in one sentence with the remedy; None if nothing does.

        As with `NoAnswer.detail`, one of `state_cause` can be said in any language.
        """


@runtime_checkable
class ProbedParticipant(Protocol):
    """A participant that can be out although it is ready: a model without quota, a server that hangs."""

    async def probe(self) -> str | None:
        """Return what prevents an answer now, after the smallest question there is; None if nothing does."""


@runtime_checkable
class SlowParticipant(Protocol):
    """A participant that may be slow without being out, and knows what would help."""

    def explain_silence(self, ask: Ask) -> str:
        """Return that nothing came within the seconds of `ask.patience`, and what to do about it, in one sentence."""


@runtime_checkable
class LeavingParticipant(Protocol):
    """A participant that holds something for one run of a session, such as a process."""

    async def leave(self) -> None:
        """Give it up: the run has ended. A second time changes nothing."""


@runtime_checkable
class VerifiableAnswer(Protocol):
    """An answer that can be marked as unverified: given without the search that it should rest on."""

    def mark_unverified(self) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a provider allows one key: requests and tokens in a minute, calls and sessions at once. None: no limit is known."""

    requests: float | None = None
    tokens: float | None = None
    at_once: int | None = None
    sessions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReport:
    """What a provider's answer said of its limits.

    `requests` and `tokens` are the allowances of a minute, `..._left` what is left of them; nothing is allowed for `closed_for`
    seconds.
    """

    requests: float | None = None
    requests_left: float | None = None
    tokens: float | None = None
    tokens_left: float | None = None
    closed_for: float = 0.0


class ProviderLimits(Protocol):
    """Limits by account: a provider and a key. `moothall_testkit.limits_contract` tests every implementation against it."""

    async def take(
        self,
        account: str,
        call: str,
        *,
        tokens: int,
        allowance: Allowance,
        lasts: float,
        session: str = "",
    ) -> float:
        """Take one request and its tokens; returns 0 if the call may begin now, else in how many seconds to ask again.

        `call` names it until `finish`; one that is never finished counts for `lasts` seconds. `session` is whose call it is, ""
        for none: it has a place at the provider until `PLACE_SECONDS` after its last call.
        """

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        """End a call; `tokens` are those that it used beyond those taken (less than 0: fewer)."""

    async def report(self, account: str, report: LimitReport) -> None:
        """Learn what the provider said of its limits; the narrower of what is set and what it says holds."""


@runtime_checkable
class Similarity(Protocol):
    """A measure of texts: Moot's own, or one that another distribution brings."""

    def likeness(self, one: str, others: Sequence[str]) -> list[float]:
        """Return the similarity of `one` to each of `others`: 0 unrelated, 1 identical."""


class MeaningIndex(Protocol):
    """Texts in the order in which they were added, comparable with a query by meaning."""

    def __len__(self) -> int: ...

    def add_texts(self, texts: Sequence[str]) -> None:
        """Add texts at the end; nothing is computed yet."""

    def measure(self, query: str, most_new: int) -> Sequence[float]:
        """Return the similarity of the query to each text: 0 unrelated (or not computed yet), 1 identical.

        At most `most_new` texts, the newest first, are computed that were not before. Blocks: call it on a thread.
        """
