"""The roundtable protocol as the house takes it in."""

from typing import Final

from moot.domain.roster import Seat, validate_seats
from moot.errors import BadRoster
from moot.ports.kit import Plan, ProtocolPlugin
from moot.protocols.roundtable.facts import MODERATOR, ConferenceOpened, Settings
from moot.protocols.roundtable.minutes import minutes
from moot.protocols.roundtable.page import page
from moot.protocols.roundtable.rules import RULES
from moot.protocols.roundtable.story import ConferenceStory, decided, summary, told


def opened(plan: Plan) -> ConferenceOpened:
    """The opening of a conference; raises BadRoster.

    Without a seat called `moderator` the first speaker's mind writes the minutes.
    """
    assert isinstance(plan.settings, Settings)
    speakers = [seat for seat in plan.seats if seat.id != MODERATOR]
    if not speakers:
        raise BadRoster("a conference needs a speaker beside the moderator: add --seat name=platform")
    moderator = next((seat for seat in plan.seats if seat.id == MODERATOR), Seat(id=MODERATOR, platform=speakers[0].platform))
    return ConferenceOpened(
        topic=plan.topic,
        language=plan.language,
        seed=plan.seed,
        seats=validate_seats((*speakers, moderator), fewest=2),
        budget=plan.budget,
        outside_patience=plan.outside_patience,
        subject=plan.subject,
        hosted=plan.hosted,
        settings=plan.settings,
    )


ROUNDTABLE: Final = ProtocolPlugin(
    name="roundtable",
    rules=RULES,
    settings=Settings,
    open=opened,
    tell=ConferenceStory,
    decision=decided,
    lines=told,
    summary=summary,
    exports={"minutes": minutes, "html": page},
)
