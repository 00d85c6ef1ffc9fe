"""The roundtable protocol as the house takes it in."""

from typing import Final

from moothall.domain.roster import Seat, validate_seats
from moothall.errors import BadRoster
from moothall.ports.plugin import Plan, ProtocolPlugin
from moothall.protocols.roundtable.facts import MODERATOR, ConferenceOpened, RoundtableSettings
from moothall.protocols.roundtable.live_lines import add_and_describe_entry
from moothall.protocols.roundtable.report import build_roundtable_report
from moothall.protocols.roundtable.rules import RULES
from moothall.protocols.roundtable.timeline import RoundtableTimeline, build_decision
from moothall.protocols.roundtable.workload import expect_calls


def open_session(plan: Plan) -> ConferenceOpened:
    """The opening of a conference; raises BadRoster.

    Without a seat called `moderator` the first speaker's mind writes the minutes.
    """
    assert isinstance(plan.settings, RoundtableSettings)
    speakers = [seat for seat in plan.seats if seat.id != MODERATOR]
    if not speakers:
        raise BadRoster("a conference needs a speaker beside the moderator: add --seat name=platform")
    moderator = next((seat for seat in plan.seats if seat.id == MODERATOR), Seat(id=MODERATOR, platform=speakers[0].platform))
    seats = validate_seats((*speakers, moderator), fewest=2)
    return plan.opening(ConferenceOpened, seats=seats, settings=plan.settings, returns_minutes=True)


ROUNDTABLE: Final = ProtocolPlugin(
    name="roundtable",
    rules=RULES,
    settings=RoundtableSettings,
    open=open_session,
    timeline=RoundtableTimeline,
    decision=build_decision,
    describe=add_and_describe_entry,
    report=build_roundtable_report,
    expect=expect_calls,
    refuses={"turns": "it goes on in rounds, in which everyone speaks once; limit it with the setting max_rounds"},
)
