"""What an agent is told to do to take its seat: tools by their names, and how to use them one after another."""

from typing import Final, Literal

from moothall.domain.facts import Language
from moothall.locale.catalogues import INVITATION

SessionKind = Literal["deliberation", "meeting", "swarm", "conference"]
"""By which tools participants from outside take part. A `meeting` is a session of any other protocol."""

_ARGUMENTS: Final[dict[SessionKind, tuple[str, str]]] = {
    "deliberation": ("deliberationId", "participant"),
    "meeting": ("sessionId", "seat"),
    "swarm": ("sessionId", "seat"),
    "conference": ("conference", "role"),
}


def build_join_prompt(
    kind: SessionKind, language: Language, *, session: str, seat: str, has_token: bool, has_consultations: bool = False
) -> str:
    """What an agent is told to do to take its seat. With a seat's token the tools know session and seat themselves."""
    words = INVITATION[language]
    first, second = _ARGUMENTS[kind]
    steps = words.steps[kind].format(
        with_session="" if has_token else words.with_session.format(name=first, session=session),
        with_seat="" if has_token else words.with_seat.format(name=first, session=session, seat_name=second, seat=seat),
    )
    more = words.consulted if has_consultations else ""
    return words.frame.format(seat=seat, kind=words.kinds[kind], session=session, steps=steps + more)
