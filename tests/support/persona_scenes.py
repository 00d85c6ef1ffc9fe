"""What the tests of the persona rules share."""

from tests.support.play_persona import MeetingRun, bid_silence, bid_to_speak, build_seat

from moothall.features.persona.facts import (
    PersonaSettings,
)

ADA, BOB, CY = build_seat("ada"), build_seat("bob"), build_seat("cy")


BLIND = PersonaSettings(blind=True)


REALISTIC = (
    "The runway is {n} months; a cut of a tenth keeps the core team whole and buys two quarters. "
    * 4
)


def quiet(table: MeetingRun) -> MeetingRun:
    return table.bids(**{each.id: bid_silence(0.1) for each in table.state.seats})


def _at(phase: str) -> MeetingRun:
    table = MeetingRun(ADA, BOB, settings=BLIND if phase == "blind" else None)
    match phase:
        case "blind":
            return table.position("ada", "For.")
        case "intents":
            return table.bids(ada=bid_to_speak(0.9))
        case "speech":
            return table.bids(ada=bid_to_speak(0.9), bob=bid_silence(0.4))
        case "draft":
            return quiet(table)
        case _:
            return quiet(table).drafts("ada")
