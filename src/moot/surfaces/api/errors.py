"""How errors cross the wire: a documented code, a kind, and a sentence that says what was expected."""

from dataclasses import dataclass
from typing import Final

from moot import errors
from moot.errors import CallerError, MootError

PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


@dataclass(frozen=True, slots=True)
class Code:
    """A code of ours, and when it is given."""

    number: int
    means: str


CODES: Final[dict[type[MootError], Code]] = {
    errors.NotAllowed: Code(-32001, "the token is missing, unknown, expired, revoked, or may not do this"),
    errors.UnknownSession: Code(-32002, "no such session"),
    errors.UnknownDecision: Code(-32002, "no such decision"),
    errors.UnknownThread: Code(-32002, "no such thread"),
    errors.UnknownToken: Code(-32002, "no such token"),
    errors.UnknownConference: Code(-32002, "no such conference"),
    errors.FolderDamaged: Code(-32003, "the conference's folder is not as its record says; it must be repaired first"),
    errors.OutOfTurn: Code(-32003, "the protocol has no place for this now"),
    errors.UnknownAsk: Code(-32003, "nothing is asked under this id now"),
    errors.UnknownSeat: Code(-32004, "this participant has no seat here that anyone may speak for"),
    errors.SessionClosed: Code(-32005, "the session has ended"),
    errors.KeyReused: Code(-32006, "the idempotency key came before, with other words"),
    errors.SessionExists: Code(-32006, "a session of this id exists already"),
    errors.SessionBusy: Code(-32007, "another process is at work on this"),
    errors.WorldError: Code(-32008, "the world failed (a disk, a provider, a ledger); the call may be made again"),
}
TOO_MUCH: Final = Code(-32009, "too many calls, or too large a one")
STANDARD: Final[dict[int, str]] = {
    PARSE: "the request is no JSON",
    INVALID_REQUEST: "the request is no JSON-RPC 2.0 request",
    NO_METHOD: "no such method",
    INVALID_PARAMS: "a parameter is missing, unknown or not what was expected",
    INTERNAL: "a fault of the server's own; it is in its log",
}


def find_error_code(error: MootError) -> int:
    """The code of an error: its own, or its nearest ancestor's."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind].number
    return INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL
