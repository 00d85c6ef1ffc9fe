"""How a council protocol is put together."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from moot.domain.roster import validate_seats
from moot.ports.kit import Plan, ProtocolPlugin
from moot.protocols.council.facts import CouncilOpened, Order, Settings
from moot.protocols.council.minutes import minutes
from moot.protocols.council.page import page
from moot.protocols.council.rules import CouncilRules
from moot.protocols.council.story import Deliberation, decided
from moot.protocols.council.telling import summary, told

FEWEST_SEATS: Final = 2

Check = Callable[[CouncilOpened], None]


def council_kit(
    rules: CouncilRules, settings: type[Settings], opening: type[CouncilOpened], *, wire_name: str, check: Check | None = None
) -> ProtocolPlugin:
    """The kit of a protocol that runs by these rules; `check` raises where an opening cannot work."""

    def opened(plan: Plan) -> CouncilOpened:
        """The opening of a deliberation; raises BadRoster or BadSetting."""
        assert isinstance(plan.settings, settings)
        found = opening(
            topic=plan.topic,
            language=plan.language,
            seed=plan.seed,
            seats=validate_seats(plan.seats, fewest=FEWEST_SEATS),
            budget=plan.budget,
            outside_patience=plan.outside_patience,
            subject=plan.subject,
            hosted=plan.hosted,
            settings=replace(plan.settings, order=_order(plan)),
        )
        if check is not None:
            check(found)
        return found

    return ProtocolPlugin(
        name=rules.name,
        wire_name=wire_name,
        rules=rules,
        settings=settings,
        open=opened,
        tell=partial(Deliberation, rules=rules),
        decision=decided,
        lines=told,
        summary=summary,
        exports={"minutes": minutes, "html": page},
    )


def _order(plan: Plan) -> Order:
    """Those who come from elsewhere come when they come; those that are asked are asked one after another."""
    if plan.settings.order != "auto":
        order: Order = plan.settings.order
        return order
    return "open" if any(seat.is_outside for seat in plan.seats) else "round_robin"
