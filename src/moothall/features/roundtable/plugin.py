"""Registers the roundtable protocol."""

from typing import Final

from moothall.features.roundtable import timeline
from moothall.features.roundtable.facts import MODERATOR, ConferenceOpened, RoundtableSettings
from moothall.features.roundtable.rules import RULES
from moothall.plugins import (
    LONG_ANSWER,
    BadRoster,
    ExpectedCalls,
    JoinGuide,
    Opened,
    Plan,
    ProtocolPlugin,
    Seat,
    validate_seats,
)
from moothall.ports.plugin import MEETING


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """A speech of everybody in each round, at least in the first; then the minutes."""
    assert isinstance(opened, ConferenceOpened)
    speakers = tuple(seat.id for seat in opened.seats if seat.id != MODERATOR)
    writer = next((seat.id for seat in opened.seats if seat.id == MODERATOR), speakers[0])
    return (
        ExpectedCalls(seats=speakers, least=1, most=opened.settings.max_rounds, is_in_turn=True),
        ExpectedCalls(seats=(writer,), least=1, most=1, tokens_out=2 * LONG_ANSWER),
    )


def open_session(plan: Plan) -> ConferenceOpened:
    """The opening of a conference; raises BadRoster.

    Without a seat called `moderator` the first speaker's mind writes the minutes: in a seat of its own where Moot asks it, in the
    speaker's seat where it comes from outside, because only who was invited can answer.
    """
    assert isinstance(plan.settings, RoundtableSettings)
    speakers = [seat for seat in plan.seats if seat.id != MODERATOR]
    if not speakers:
        raise BadRoster(
            "a conference needs a speaker beside the moderator: add --seat name=platform"
        )
    moderators = [seat for seat in plan.seats if seat.id == MODERATOR]
    if not moderators and not speakers[0].is_outside:
        moderators = [Seat(id=MODERATOR, platform=speakers[0].platform)]
    seats = validate_seats((*speakers, *moderators))
    return plan.opening(ConferenceOpened, seats=seats, settings=plan.settings)


def find_join_guide(opened: Opened) -> JoinGuide:
    """A conference in files has tools of its own, which know it by its name."""
    assert isinstance(opened, ConferenceOpened)
    if opened.settings.conference:
        return JoinGuide("conference", opened.settings.conference)
    return MEETING


ROUNDTABLE: Final = ProtocolPlugin(
    name="roundtable",
    rules=RULES,
    settings=RoundtableSettings,
    open=open_session,
    timeline=timeline.RoundtableTimeline,
    decision=timeline.build_decision,
    describe=timeline.add_and_describe_entry,
    report=timeline.build_roundtable_report,
    expect=expect_calls,
    join=find_join_guide,
    refuses={
        "turns": "it goes on in rounds, in which everyone speaks once; limit it with the setting max_rounds",
        "facts": "its roles speak in turn, and nobody takes a position first; use the protocol debate",
    },
)
