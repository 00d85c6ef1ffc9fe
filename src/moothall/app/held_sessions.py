"""Sessions that a program opens and holds in one call: with a gate, as a plan alone, or with a result of its own type (G-8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from moothall.app.estimates import Range, SessionEstimate, estimate_session
from moothall.app.opening import PlannedSession, plan_session
from moothall.app.protocols import find_plugin
from moothall.app.remembering import Remembering
from moothall.app.requirement import (
    Requirement,
    add_gate,
    build_requirement,
    check_gate_seats,
    check_required,
)
from moothall.app.resources import Resources
from moothall.app.session_options import Options
from moothall.app.typed_decisions import (
    TypedDecision,
    check_output_type,
    fill_output,
    find_writer,
)
from moothall.domain.facts import Opened
from moothall.domain.roster import Seat
from moothall.reports.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What a session would be opened with, and what it would cost; nothing is recorded, and nobody was asked."""

    protocol: str
    opened: Opened
    """The fact that would open it: topic, seats, budget, settings, files."""
    estimate: SessionEstimate
    left_out: tuple[str, ...] = ()
    """A line for each model that was discovered and cannot be asked now."""

    @property
    def seats(self) -> tuple[Seat, ...]:
        return self.opened.seats

    @property
    def calls(self) -> Range:
        """Calls to models, at least and at most."""
        return self.estimate.calls

    @property
    def tokens(self) -> Range:
        return self.estimate.tokens

    @property
    def usd(self) -> Range | None:
        """US dollars; None where a price is not known."""
        return self.estimate.usd


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedHold:
    """A session that is about to be held, and what is asked of its result."""

    planned: PlannedSession
    required: Requirement
    output_type: type[Any] | None = None


async def prepare_hold(
    resources: Resources,
    remembering: Remembering,
    topic: str,
    options: Options,
    *,
    require: str | Sequence[str],
    require_worth: str,
    output_type: type[Any] | None,
) -> PreparedHold:
    """Return the plan of a session after all checks of what is asked of its result; raises BadSetting or BadRoster.

    What would be known only after the session was paid for is said here.
    """
    required = build_requirement(require, require_worth)
    check_required(required, options.get("options") or ())
    if output_type is not None:
        check_output_type(output_type)
    planned = await plan_session(resources, remembering, topic, options)
    seats = planned.opened.seats
    check_gate_seats(required, seats)
    # Before the session is paid for: afterwards it would be a decision that cannot be handed over.
    if output_type is not None:
        find_writer(seats, resources.seating.kinds, output_type)
    return PreparedHold(planned=planned, required=required, output_type=output_type)


async def finish_hold(
    resources: Resources, decision: Decision, prepared: PreparedHold
) -> Decision | TypedDecision[Any]:
    """Return a decision with its gate, and in the type of the program, where either was asked for."""
    judged = add_gate(decision, prepared.required)
    if prepared.output_type is None:
        return judged
    return await fill_output(resources, judged, prepared.output_type)


def build_session_plan(resources: Resources, planned: PlannedSession) -> SessionPlan:
    """Return a plan with what it would cost."""
    return SessionPlan(
        protocol=find_plugin(planned.opened).name,
        opened=planned.opened,
        estimate=estimate_session(planned.opened, resources.seating.kinds, planned.framer),
        left_out=planned.left_out,
    )
