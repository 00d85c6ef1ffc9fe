"""What the tests of the council's rules share: seats, settings, deliberations at a given phase."""

from collections.abc import Callable
from typing import Any

from tests.support.play_council import (
    DeliberationRun,
    build_mailbox_seat,
    build_seat,
    debate,
    propose,
    vote,
)

from moothall.domain.effects import Brief
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.protocols.council.facts import (
    Contribution,
    CouncilSettings,
)

ADA, BOB, CY = build_seat("ada"), build_seat("bob"), build_seat("cy")


AWAY = (build_mailbox_seat("ada"), build_mailbox_seat("bob"), build_mailbox_seat("cy"))


FIVE = tuple(build_seat(name) for name in ("ada", "bob", "cy", "dee", "eve"))


HSM = (
    build_mailbox_seat("emerson"),
    build_mailbox_seat("minski"),
    build_mailbox_seat("code-reviewer"),
)


NO_BLIND = CouncilSettings(blind=False)


Opener = Callable[..., DeliberationRun]


def ids(*names: str) -> tuple[SeatId, ...]:
    return tuple(SeatId(name) for name in names)


def proposed(table: DeliberationRun) -> DeliberationRun:
    """After the first phase: ada for (#2), bob and cy against (#3, #4)."""
    return table.say(
        ada=propose("yes", "Adopt it."), bob=propose("no", "Leave it."), cy=propose("no", "Wait.")
    )


def at(phase: str, opener: Opener = debate, *seats: Seat, **rest: Any) -> DeliberationRun:
    """A deliberation of three that stands in this phase, with nothing said in it yet."""
    table = opener(*(seats or (ADA, BOB, CY)), **rest)
    if phase == "propose":
        return table
    proposed(table)
    return table.pass_until(phase)  # type: ignore[arg-type]  # the names of the phases are given by the tests


def seen(brief: Brief) -> str:
    """All that a participant could read of the others."""
    memory = brief.perception.memory
    heard = [line.text for line in memory.recent] + [line.text for line in memory.older]
    return "\n".join(
        [
            brief.shared,
            brief.own,
            brief.perception.goal,
            brief.perception.own_words,
            brief.subject,
            *heard,
        ]
    )


def objecting(table: DeliberationRun, **votes: Contribution | None) -> DeliberationRun:
    return table.say_all(
        {"ada": vote(), "bob": vote("oppose", text="It is slow."), "cy": vote()} | votes
    )
