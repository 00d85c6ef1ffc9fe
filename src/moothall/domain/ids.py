"""Ids of sessions, seats and asks, the rules for valid ones, and the keys under which calls may be repeated."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NewType, Self

from moothall.domain.replace import dataclass
from moothall.errors import BadName

SessionId = NewType("SessionId", str)
SeatId = NewType("SeatId", str)
AskId = NewType("AskId", str)

USER: Final = SeatId("USER")
MAX_SEAT_LENGTH: Final = 64
MAX_SESSION_LENGTH: Final = 80
AGAIN: Final = "-again-"
"""Between the id of a session and a number, in the ids of those that ask its question again."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_ALIKE_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "COPTIC", "CHEROKEE"})
"""Scripts with letters that look like those of another; a name is written in one of them."""
_ALIKE: Final = str.maketrans(
    "аАВсСԁеЕһНіІјЈӏкКмМоОрРԛѕЅтТуУԝхХαΑΒΕΖΗιΙκΚΜΝνοΟρΡΤυΥχΧհոօս",
    "aABcCdeEhHiIjJlkKmMoOpPqsStTyYwxXaABEZHiIkKMNvoOpPTuYxXhnou",
)
"""Letters of other scripts, and the Latin ones that they look like."""
_ALIKE_SHAPES: Final = str.maketrans("I10", "llO")


def parse_seat_id(text: str) -> SeatId:
    """Validate a seat id: letters and digits of any script, `_` and `-`; raises BadName."""
    # NFC first: the same name typed as composed or decomposed characters must be one seat.
    name = unicodedata.normalize("NFC", text.strip())
    if not name or len(name) > MAX_SEAT_LENGTH:
        raise BadName(f"seat id {text[:80]!r} must have 1 to {MAX_SEAT_LENGTH} characters")
    # Mn and Mc are combining marks: many scripts (Devanagari, Thai) cannot write a word without them.
    if not all(
        char.isalnum() or char in "_-" or unicodedata.category(char) in {"Mn", "Mc"}
        for char in name
    ):
        raise BadName(
            f"seat id {text!r} may hold letters and digits of any script, '_' and '-', nothing else"
        )
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in name} & _ALIKE_SCRIPTS
    if len(scripts) > 1:
        mixed = " and ".join(sorted(script.title() for script in scripts))
        raise BadName(
            f"seat id {text!r} mixes {mixed} letters, which look alike; write it in one of them"
        )
    if "user" in list_name_shapes(name):
        raise BadName(f"seat id {text!r} is reserved for the person who asks; choose another")
    return SeatId(name)


def list_name_shapes(name: str) -> frozenset[str]:
    """How a name looks to a reader: two names with a shape in common are taken for one another."""
    letters = unicodedata.normalize("NFKC", name).translate(_ALIKE)
    return frozenset({letters.casefold(), f"={letters.translate(_ALIKE_SHAPES)}"})


def parse_session_id(text: str) -> SessionId:
    """Validate a session id: ASCII letters, digits, `_` and `-`; raises BadName."""
    # ASCII only: session ids become file names and parts of URLs.
    if not isinstance(text, str) or len(text) > MAX_SESSION_LENGTH or not _SESSION.fullmatch(text):
        raise BadName(
            f"session id {str(text)[:100]!r} must have 1 to {MAX_SESSION_LENGTH} ASCII letters, digits, '_' or '-', "
            "beginning with a letter or digit"
        )
    return SessionId(text)


def daily_prefix(now: datetime) -> str:
    """The prefix that the default ids of all sessions of one UTC day share."""
    return f"think_{now:%Y%m%d}_"


def daily_id(now: datetime, number: int) -> SessionId:
    """The default session id, `think_YYYYMMDD_NNN`."""
    return SessionId(f"{daily_prefix(now)}{number:03d}")


def ask_id(turn: int, kind: str, seat: SeatId) -> AskId:
    """The stable id of an ask. It is computed from the session's state, so that a restarted process builds the same id."""
    return AskId(f"{turn}.{kind}.{seat}")


def parse_ask_kind(ask: str) -> str:
    """What an ask asks for; empty for what is no id of an ask."""
    parts = ask.split(".", 2)
    return parts[1] if len(parts) == 3 else ""


def find_asked_seat(ask: str) -> SeatId:
    """Whom an ask is put to; what is no id of an ask stands for itself."""
    return SeatId(ask.split(".", 2)[-1])


def is_register(name: str) -> bool:
    """Whether a stream of the ledger is a register, which outlives sessions, and not a session."""
    return name.startswith("_")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCall:
    """A write that may be repeated: which one, by whom, under which key (may be empty), in which words.

    The sender's own words decide whether it is the same call. What Moot makes of them (which models it finds, what it remembers)
    may differ by the second time, so it is never compared.
    """

    call: str
    by: str
    key: str
    words: tuple[object, ...]

    @classmethod
    def from_params(cls, call: str, by: str, key: str, params: Mapping[str, Any]) -> Self:
        """Return the call with the parameters that its sender gave, in whatever order they came."""
        return cls(call=call, by=by, key=key, words=(call, json.dumps(params, sort_keys=True)))

    @property
    def digest(self) -> str:
        """What stands for the words, and is compared when the key comes again."""
        words = json.dumps(self.words, ensure_ascii=True, default=asdict)
        return sha256(words.encode()).hexdigest()
