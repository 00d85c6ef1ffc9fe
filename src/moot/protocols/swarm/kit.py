"""The swarm protocol as the house takes it in."""

from dataclasses import replace
from typing import Final

from moot.domain.roster import HELPING_SEATS, MOST_SEATS, Seat, validate_seats
from moot.errors import BadRoster, BadSetting
from moot.ports.kit import Plan, ProtocolPlugin
from moot.protocols.swarm.blackboard import blackboard, operation_log, run_config
from moot.protocols.swarm.facts import FEWEST_AGENTS, LIKENESS, MOST_AGENTS, VALIDATOR, Settings, SwarmOpened
from moot.protocols.swarm.page import page
from moot.protocols.swarm.report import convergence_report, final_report
from moot.protocols.swarm.rules import RULES
from moot.protocols.swarm.story import SwarmStory, decided
from moot.protocols.swarm.telling import summary, told

MEASURE: Final = "measure"
"""The platform of the measure of likeness: the best that is at hand."""

_NO_MODEL: Final = frozenset(("mailbox", "human", "script", "measure"))


def opened(plan: Plan) -> SwarmOpened:
    """The opening of a swarm; raises BadRoster or BadSetting.

    Every seat but `validator` and `likeness` is an explorer, and all explorers are equal: what a panel says of each is left out.
    Without a seat called `validator` the first explorer's model validates; where no explorer is a model, nobody does.
    """
    settings = plan.settings
    assert isinstance(settings, Settings)
    if settings.directions and settings.mode != "hybrid":
        raise BadSetting(f"directions are laid down in the mode hybrid only; the mode is {settings.mode}")
    if not all(direction.strip() for direction in settings.directions):
        raise BadSetting("a direction is empty; say it in words: --direction WORDS")
    if settings.mode == "hybrid" and not settings.directions:
        raise BadSetting("the mode hybrid needs directions of yours: --direction WORDS, once for each")
    explorers = [replace(seat, stance="", instructions="") for seat in plan.seats if seat.id not in {VALIDATOR, LIKENESS}]
    if not FEWEST_AGENTS <= len(explorers) <= MOST_AGENTS:
        raise BadRoster(f"{len(explorers)} explorers; a swarm needs {FEWEST_AGENTS} to {MOST_AGENTS}: --agents N, or add --seat")
    person = next((seat.id for seat in explorers if seat.platform == "human"), None)
    if person is not None:
        raise BadRoster(
            f"seat {person!r}: a report has lists that a terminal does not ask for; seat a person as mailbox (`moot answer`)"
        )
    return SwarmOpened(
        topic=plan.topic,
        language=plan.language,
        seed=plan.seed,
        seats=validate_seats((*explorers, *_helpers(plan, explorers)), fewest=2, most=MOST_SEATS + HELPING_SEATS),
        budget=plan.budget,
        outside_patience=plan.outside_patience,
        subject=plan.subject,
        hosted=plan.hosted,
        settings=settings,
    )


def _helpers(plan: Plan, explorers: list[Seat]) -> list[Seat]:
    given = {seat.id: seat for seat in plan.seats}
    model = next((seat for seat in explorers if seat.platform.partition(":")[0] not in _NO_MODEL), None)
    found = []
    if VALIDATOR in given:
        found.append(given[VALIDATOR])
    elif model is not None:
        found.append(Seat(id=VALIDATOR, platform=model.platform, trust=model.trust))
    found.append(given.get(LIKENESS, Seat(id=LIKENESS, platform=MEASURE)))
    return found


SWARM: Final = ProtocolPlugin(
    name="swarm",
    rules=RULES,
    settings=Settings,
    open=opened,
    tell=SwarmStory,
    decision=decided,
    lines=told,
    summary=summary,
    exports={
        "minutes": final_report,
        "html": page,
        "blackboard": blackboard,
        "operations": operation_log,
        "convergence": convergence_report,
        "config": run_config,
    },
)
