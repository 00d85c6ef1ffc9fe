"""Recurring questions (G-5): the same question to the same seats, with fresh minds, and whether the answer changed.

The sessions of one question are a chain: `ID`, `ID-again-1`, `ID-again-2`. Each opening names the session that its answer is
compared with. A schedule is the system's own: cron, or a timer.
"""

import secrets
from dataclasses import dataclass, replace
from typing import Final

from moothall.app.decision_records import with_recorded_trust
from moothall.app.opening import PlannedSession, open_planned
from moothall.app.protocols import find_plugin
from moothall.app.resources import Resources
from moothall.app.session_reader import read_session
from moothall.domain.facts import Opened
from moothall.domain.ids import AGAIN, SessionId, parse_session_id
from moothall.domain.roster import NEUTRAL_TRUST, Seat
from moothall.domain.safe_text import compile_late
from moothall.domain.topic import normalize_label
from moothall.errors import BadSetting, SessionBusy, SessionExists
from moothall.reports.decision import Decision
from moothall.scoring.likeness import is_same_by_words

_REPEATED: Final = compile_late(rf"(?P<first>.+){AGAIN}(?P<number>[1-9][0-9]{{0,8}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringSession:
    """The session that asks again, and the one that its answer is compared with."""

    session: SessionId
    former: SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedAnswer:
    """What a question that was asked again came to, beside the last answer before."""

    latest: Decision
    former: Decision

    @property
    def is_changed(self) -> bool:
        """Whether another answer was decided; not where nothing was."""
        return self.latest.decision is not None and has_changed(self.former, self.latest)


async def open_again(moot: Resources, session: str) -> RecurringSession:
    """Open the next session of a chain, or return its last one, if that has not ended: then it goes on.

    Raises BadSetting for a session that cannot be repeated, SessionBusy where another process repeats it at the same moment.
    """
    name = parse_session_id(session)
    given = (await moot.engine.load_snapshot(name)).session_state.opened
    first = name
    match = _REPEATED.fullmatch(name)
    if match and given.subject.again_of:
        first = SessionId(match["first"])
    chain = [first, *await _list_repeats(moot, first)]
    last = await moot.engine.load_snapshot(chain[-1])
    opened = last.session_state.opened
    if not last.is_closed:
        if not opened.subject.again_of:
            raise BadSetting(
                f"session {first!r} has not ended; what is asked again has an answer: moot resume {first}"
            )
        return RecurringSession(session=chain[-1], former=SessionId(opened.subject.again_of))
    _check_repeatable(first, opened)
    former = await _find_last_answer(moot, chain)
    # Trust by record is looked up again; what was set by hand stays.
    former_seats = [_drop_recorded_trust(seat) for seat in last.session_state.seats]
    seed = secrets.randbits(31)
    seats = await with_recorded_trust(moot.memory, former_seats, opened.subject.category)
    consult = opened.consult
    if consult is not None:
        consult = replace(consult, token=secrets.token_hex(8))
    planned = replace(
        opened,
        seed=seed,
        seats=seats,
        # What was answered before would be repeated: nobody is told of it.
        subject=replace(opened.subject, precedents=(), again_of=former),
        consult=consult,
        words_digest="",
        # What its frame has cost, the first session has paid.
        framing=None,
    )
    moot.seating.check_scripts(planned.seats, find_plugin(planned).rules.forms)
    await moot.seating.check(planned.seats, planned.language)
    name = parse_session_id(f"{first}{AGAIN}{_find_number(chain[-1]) + 1}")
    try:
        return RecurringSession(
            session=await open_planned(moot, PlannedSession(opened=planned, session=name)),
            former=former,
        )
    except SessionExists as cause:
        raise SessionBusy(
            f"another process asks {first!r} again, or {name} is archived: moot list --archived"
        ) from cause


async def _list_repeats(moot: Resources, first: SessionId) -> list[SessionId]:
    """The sessions that ask a session again, in their order; not those that ask one of them again in a chain of its own."""
    repeats = []
    depth = first.count(AGAIN) + 1
    for head in await moot.ledger.heads(f"{first}{AGAIN}"):
        if head.session.count(AGAIN) == depth and _REPEATED.fullmatch(head.session):
            repeats.append(head.session)
    return sorted(repeats, key=_find_number)


def _drop_recorded_trust(seat: Seat) -> Seat:
    if seat.accuracy is None:
        return seat
    return replace(seat, trust=NEUTRAL_TRUST, accuracy=None, cases=0.0)


def _find_number(session: SessionId) -> int:
    match = _REPEATED.fullmatch(session)
    if match is None:
        return 0
    return int(match["number"])


def _check_repeatable(session: SessionId, opened: Opened) -> None:
    if opened.demo:
        raise BadSetting(f"session {session!r} is a demo, which plays the same every time")
    if getattr(getattr(opened, "settings", None), "conference", ""):
        raise BadSetting(
            f"session {session!r} is a conference in files; open a new one: moot roundtable new"
        )
    missing = [each.name for each in opened.subject.given if not each.text]
    if missing:
        raise BadSetting(
            f"this ledger does not have what was given with the question: {', '.join(missing)}"
        )


async def _find_last_answer(moot: Resources, chain: list[SessionId]) -> SessionId:
    """The last session that decided something; the first one where none did."""
    for session in reversed(chain):
        read = await read_session(moot, session)
        if read.decide().decision is not None:
            return session
    return chain[0]


def has_changed(former: Decision, latest: Decision) -> bool:
    """Whether an answer is another than the former one: by their choices, or by their words where one has no choice."""
    if former.decision is None or latest.decision is None:
        return (former.decision is None) != (latest.decision is None)
    if former.choice and latest.choice:
        return normalize_label(former.choice) != normalize_label(latest.choice)
    return not is_same_by_words(former.decision.text, latest.decision.text)
