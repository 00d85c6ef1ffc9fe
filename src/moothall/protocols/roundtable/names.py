"""Names that become file names: those of conferences and roles.

The rule: 1 to 64 letters and digits of any script, `_` and `-`, not beginning with `-`, at most 180 bytes in UTF-8, and none of
the names that the conference itself or an operating system reserves.
"""

from typing import Final

from moothall.domain.ids import SeatId, parse_seat_id
from moothall.errors import BadName

MAX_BYTES: Final = 180
"""A file name may have 255 bytes: the number, the extension and our own marks need room as well."""

RESERVED: Final = frozenset({"moderator", "guide", "agenda", "minutes", "turn", "aside"})
DEVICES: Final = frozenset({"con", "prn", "aux", "nul"} | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)})


def validate_conference_name(text: str) -> str:
    """Validate a conference's name; raises BadName."""
    return _validate_name(text, "a conference")


def validate_role_name(text: str) -> SeatId:
    """Validate a speaker's name; raises BadName. The moderator is not a speaker."""
    return SeatId(_validate_name(text, "a role"))


def _validate_name(text: str, what: str) -> str:
    try:
        name = parse_seat_id(text)
    except BadName as cause:
        raise BadName(
            f"{what} cannot be called {text[:80]!r}; expected 1 to 64 letters and digits of any script, '_' and '-'"
        ) from cause
    if name != text or name.startswith("-"):
        raise BadName(f"{what} cannot be called {text[:80]!r}: no spaces around it, and no '-' at its beginning")
    if len(name.encode()) > MAX_BYTES:
        raise BadName(f"{what} cannot be called {text[:80]!r}: it has more than {MAX_BYTES} bytes")
    if name.casefold() in RESERVED:
        raise BadName(f"{what} cannot be called {text!r}; these names are kept: {', '.join(sorted(RESERVED))}")
    if name.casefold() in DEVICES:
        raise BadName(f"{what} cannot be called {text!r}: some systems keep that name for a device")
    return name
