"""How a council protocol is put together."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.roster import validate_seats
from moothall.errors import BadSetting
from moothall.ports.plugin import AnyPlugin, Plan, ProtocolPlugin
from moothall.protocols.council.facts import CouncilOpened, CouncilSettings, SpeakingOrder
from moothall.protocols.council.live_lines import add_and_describe_entry
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.timeline import CouncilTimeline, build_decision
from moothall.protocols.council.workload import expect_calls

MIN_SEATS: Final = 2

OpeningCheck = Callable[[CouncilOpened], None]


def build_council_plugin(
    rules: CouncilRules,
    settings: type[CouncilSettings],
    opening: type[CouncilOpened],
    *,
    wire_name: str,
    check: OpeningCheck | None = None,
) -> AnyPlugin:
    """The kit of a protocol that runs by these rules; `check` raises where an opening cannot work."""

    def open_session(plan: Plan) -> CouncilOpened:
        """The opening of a deliberation; raises BadRoster or BadSetting."""
        assert isinstance(plan.settings, settings)
        found = plan.opening(
            opening,
            seats=validate_seats(plan.seats, fewest=MIN_SEATS),
            settings=replace(plan.settings, order=_resolve_order(plan)),
        )
        if found.settings.panel == "adaptive" and (rules.name != "debate" or not found.settings.blind):
            raise BadSetting("panel = 'adaptive' needs the protocol debate and blind positions: nobody may have read the others")
        if check is not None:
            check(found)
        return found

    return ProtocolPlugin(
        name=rules.name,
        wire_name=wire_name,
        rules=rules,
        settings=settings,
        open=open_session,
        timeline=partial(CouncilTimeline, rules=rules),
        decision=build_decision,
        describe=add_and_describe_entry,
        report=build_council_report,
        expect=partial(expect_calls, rules.variant),
        refuses={"turns": "it goes on in rounds, not in turns; limit it with the setting rounds"},
    )


def _resolve_order(plan: Plan) -> SpeakingOrder:
    """Those who come from elsewhere come when they come; those that are asked are asked one after another."""
    assert isinstance(plan.settings, CouncilSettings)
    if plan.settings.order != "auto":
        return plan.settings.order
    return "open" if any(seat.is_outside for seat in plan.seats) else "round_robin"
