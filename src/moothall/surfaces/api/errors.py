"""How errors cross the wire: a documented code, a kind, and a sentence that says what was expected."""

import re
from dataclasses import dataclass
from typing import Final

from pydantic.alias_generators import to_camel

from moothall import errors
from moothall.errors import CallerError, MootError

PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


@dataclass(frozen=True, slots=True)
class Code:
    """A code of ours, and when it is given."""

    number: int
    means: str


CODES: Final[dict[type[MootError], Code]] = {
    errors.NotAllowed: Code(
        -32001, "the token is missing, unknown, expired, revoked, or may not do this"
    ),
    errors.UnknownSession: Code(-32002, "no such session"),
    errors.UnknownDecision: Code(-32002, "no such decision"),
    errors.UnknownThread: Code(-32002, "no such thread"),
    errors.UnknownToken: Code(-32002, "no such token"),
    errors.UnknownConference: Code(-32002, "no such conference"),
    errors.FolderDamaged: Code(
        -32003, "the conference's folder differs from its record; it must be repaired first"
    ),
    errors.OutOfTurn: Code(-32003, "the protocol does not allow this now"),
    errors.UnknownAsk: Code(-32003, "no ask with this id is open"),
    errors.UnknownSeat: Code(-32004, "this participant has no seat here that anyone may speak for"),
    errors.SessionClosed: Code(-32005, "the session has ended"),
    errors.KeyReused: Code(-32006, "the idempotency key was used before with other content"),
    errors.SessionExists: Code(-32006, "a session with this id exists already"),
    errors.SessionBusy: Code(-32007, "another process works on this session"),
    errors.WorldError: Code(
        -32008, "a disk, a provider or a ledger failed; the call can be repeated"
    ),
}
TOO_MUCH: Final = Code(-32009, "too many calls, or a call that is too large")
STANDARD: Final[dict[int, str]] = {
    PARSE: "the request is not valid JSON",
    INVALID_REQUEST: "the request is not a JSON-RPC 2.0 request",
    NO_METHOD: "no such method",
    INVALID_PARAMS: "a parameter is missing, unknown or not what was expected",
    INTERNAL: "an internal error of the server; see its log",
}


_FIELD: Final = re.compile(r"(?<=`)[a-z]+(?:_[a-z]+)+(?=`)")


def explain_error(error: MootError) -> str:
    """An error's sentence, and what helps, with the fields that it names spelled as on the wire."""
    return _spell_fields(str(error))


def explain_to_client(error: MootError) -> str:
    """The same for a client with tools, which has no terminal."""
    return _spell_fields(error.explain_to_client())


def _spell_fields(sentence: str) -> str:
    return _FIELD.sub(lambda match: to_camel(match[0]), sentence)


def find_error_code(error: MootError) -> int:
    """The code of an error: its own, or its nearest ancestor's."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind].number
    return INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL
