"""Every error that Moot raises.

MootError
├── CallerError              the caller's mistake: the message says what was wrong, then the remedy
│   ├── BadName              a seat, session or file name that is not allowed
│   ├── BadRoster            seats that cannot take part in one session
│   │   └── NoModel          nothing is set up that could fill them
│   ├── BadPanel             a panel file that is not valid
│   ├── BadScript            a script file that is not valid
│   ├── BadSetting           a setting outside its range
│   │   └── SecretsGiven     keys or passwords in what is given
│   ├── BadAnswer            an answer that does not have the requested shape
│   │   └── AnswerRefused    an answer that declines to answer
│   ├── BadImport            a file that cannot be imported as a session
│   ├── UnknownPlatform      a platform that no participant implements
│   ├── UnknownProtocol
│   ├── UnknownSession
│   ├── UnknownAsk           an answer to an ask that does not exist
│   ├── UnknownDecision
│   ├── UnknownThread
│   ├── UnknownToken
│   ├── UnknownSeat          a name that has no seat in the session
│   ├── UnknownConference    a conference that has no folder here
│   ├── FolderDamaged        a conference's folder that is not as its record says
│   ├── OutOfTurn            a contribution that the protocol does not allow now
│   ├── KeyReused            an idempotency key that was used with other content
│   ├── NotAllowed           a caller without the right to do this
│   ├── SessionClosed        the session has ended and accepts nothing more
│   ├── SessionBusy          another process is running this session
│   ├── SessionExists
│   ├── NotStarted           a `Moot` that was not entered with `async with`
│   └── MissingExtra         an optional part that is not installed
└── WorldError               a failure outside: a disk, a provider, a ledger
    ├── SeqConflict          another writer appended first
    ├── LedgerDamaged        the hash chain or the sequence is broken
    ├── LedgerNewer          written by a newer Moot
    │   └── ProtocolMissing  a session of a protocol that is not installed
    ├── LedgerOlder          written by a Moot from before its first release
    ├── LedgerUnavailable    it cannot be opened, read or written
    │   ├── LedgerFull       no room to write
    │   └── LedgerReadOnly   a file or folder that may only be read
    ├── SchedulerUnavailable the server that hands out sessions to workers does not answer
    ├── ReplayDiffers        a ledger that does not follow from its rulebook
    ├── FolderUnwritable     files for people that cannot be written; the ledger has everything
    └── ProviderRefused      a provider that rejects the key, the model or the address
"""

import shlex
import sys
from importlib.util import find_spec
from typing import Final, Literal

LIST_SESSIONS: Final = "`moot list` shows those that exist"
"""What helps at a terminal where no session has the name; other clients are sent the list itself."""
DISTRIBUTION: Final = "moothall"
"""The name that users install, on PyPI."""


class MootError(Exception):
    """The root of the tree: what is wrong in a sentence, and beside it what to do about it."""

    def __init__(self, sentence: str = "", *, command: str = "", tool: str = "") -> None:
        """`command` says what helps at a terminal, `tool` what helps a client with tools, which has no terminal."""
        super().__init__(sentence)
        self.sentence = sentence
        self.command = command
        self.tool = tool

    def __str__(self) -> str:
        return join_remedy(self.sentence, self.command)

    def explain_to_client(self) -> str:
        """What is said to a client with tools."""
        return join_remedy(self.sentence, self.tool)


def join_remedy(sentence: str, remedy: str) -> str:
    """Join a sentence with what to do about it, if anything; a remedy may begin a line of its own."""
    if not remedy or remedy.startswith("\n"):
        return sentence + remedy
    return f"{sentence}; {remedy}"


class CallerError(MootError):
    """The call was wrong; nothing was recorded."""


class BadName(CallerError): ...


class BadRoster(CallerError): ...


class NoModel(BadRoster):
    """Seats without a platform, where nothing is set up that could fill them."""


class BadPanel(CallerError): ...


class BadScript(CallerError): ...


class BadSetting(CallerError): ...


class SecretsGiven(BadSetting):
    """What is given with a question looks like it holds keys, tokens or passwords, and nobody has allowed to send them."""


class BadAnswer(CallerError):
    loss: Literal["malformed", "refused"] = "malformed"
    """By what the seat is lost if it does not answer better when it is asked again."""


class AnswerRefused(BadAnswer):
    loss = "refused"


class UnclearChoice(BadAnswer):
    """An answer that makes no choice plainly: its seat is asked which one it meant."""

    def __init__(
        self, sentence: str, *, field: str, choices: tuple[str, ...], words: str, raw: object = None
    ) -> None:
        """`field` is the path of the choice in the answer `raw`, and `words` is what was said in its place."""
        super().__init__(sentence)
        self.field = field
        self.choices = choices
        self.words = words
        self.raw = raw


class UnclearSide(UnclearChoice):
    """A choice beside which its writer says another one, or declines to answer: it is asked about, never dropped."""


class BadImport(CallerError): ...


class UnknownPlatform(CallerError): ...


class UnknownProtocol(CallerError): ...


class UnknownSession(CallerError): ...


class UnknownAsk(CallerError): ...


class UnknownDecision(CallerError): ...


class UnknownThread(CallerError): ...


class UnknownToken(CallerError): ...


class UnknownSeat(CallerError): ...


class UnknownConference(CallerError): ...


class FolderDamaged(CallerError): ...


class OutOfTurn(CallerError): ...


class KeyReused(CallerError): ...


class NotAllowed(CallerError): ...


class SessionClosed(CallerError): ...


class SessionBusy(CallerError): ...


class SessionExists(CallerError): ...


class NotStarted(CallerError): ...


class MissingExtra(CallerError): ...


_INSTALLS: Final = {
    "/pipx/venvs/": 'pipx install --force "{package}"',
    "/uv/tools/": 'uv tool install "{package}"',
    # Of `uvx`, whose environments are in its cache.
    "/uv/archive-": f'uvx --from "{{package}}" {DISTRIBUTION}',
}
"""How Moot is installed, by a part of the path of its environment."""


def describe_install(extra: str) -> str:
    """The command that installs what an optional part of Moot needs, in the way in which Moot itself was installed."""
    usual = 'pip install "{package}"'
    if find_spec("pip") is None:
        # An environment that uv made has no pip.
        usual = f'uv pip install --python {shlex.quote(sys.executable)} "{{package}}"'
    way = next((way for place, way in _INSTALLS.items() if place in sys.prefix), usual)
    return way.replace("{package}", f"{DISTRIBUTION}[{extra}]")


class WorldError(MootError):
    """The call was correct; a disk, a provider or a ledger failed."""


class SeqConflict(WorldError):
    """An append that expected a different head of the session."""

    def __init__(self, session: str, expected: int, head: int) -> None:
        super().__init__(
            f"session {session!r} is at entry {head}, not {expected}; read the newer entries and try again"
        )
        self.session = session
        self.expected = expected
        self.head = head


class LedgerDamaged(WorldError): ...


class LedgerNewer(WorldError): ...


class ProtocolMissing(LedgerNewer):
    """A session whose protocol is not installed; its record stays whole and can be verified and exported."""

    def __init__(self, protocol: str) -> None:
        super().__init__(
            f"the protocol {protocol!r} of this session is not installed; install the package that brings {protocol!r}"
        )
        self.protocol = protocol


class LedgerOlder(WorldError): ...


class LedgerUnavailable(WorldError): ...


class LedgerFull(LedgerUnavailable): ...


class LedgerReadOnly(LedgerUnavailable): ...


class SchedulerUnavailable(WorldError): ...


class ReplayDiffers(WorldError): ...


class FolderUnwritable(WorldError): ...


class ProviderRefused(WorldError): ...
