"""The six operations: the only way in which an agent can change the blackboard. The parameters of a handler are those of its
operation, with their limits.

Each is validated, numbered, executed once or refused, and answered. An agent can change only its own direction and subtask, and
otherwise only what its operation is for. No operation sets a concentration directly.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from inspect import Parameter, signature
from typing import Any, Final, NamedTuple, get_args

from moothall.domain.ids import SeatId
from moothall.domain.limits import explain_violation
from moothall.domain.replace import copy_fields, fast_replace
from moothall.domain.safe_text import one_line, strip_control
from moothall.domain.topic import normalize_label
from moothall.protocols.swarm import answers
from moothall.protocols.swarm.answers import (
    MAX_DIRECTION_LENGTH,
    Direction,
    Operation,
    RoundReport,
    StatedIdea,
)
from moothall.protocols.swarm.facts import OperationResult, Role
from moothall.protocols.swarm.json_fields import take_fields, to_camel_case
from moothall.protocols.swarm.rules.evidence import direction_key
from moothall.protocols.swarm.state import Agent, Finding, Pheromone, Signal, SubtaskClaim, Swarm
from moothall.scoring.likeness import normalize_idea
from moothall.scoring.stigmergy import add_deposit, apply_stop_signal

OWN_FIELDS: Final = ("current.exploringDirection", "current.claimedSubtask")
MAX_DIRECTIONS: Final = 256
MAX_CLAIMS: Final = 256
_FINDING: Final = "coreIdea perspective details agreesWith confidence needsValidation searchAttempted rating option"


class OperationRefused(Exception):
    """An operation that cannot be executed: what was expected, and `error` as the protocol names it."""

    def __init__(self, detail: str, error: str = "invalid_params") -> None:
        super().__init__(error)
        self.error, self.detail = error, detail


class OperationEffect(NamedTuple):
    target: str = ""
    before: float | None = None
    after: float | None = None
    detail: str = ""


class BlackboardEditor:
    """The blackboard and its agents while the operations of one round are executed."""

    def __init__(self, state: Swarm) -> None:
        self._state = state
        self._settings = state.settings
        self.agents = dict(state.agents)
        self.board = state.board
        self.results: list[OperationResult] = []

    def execute(self, seat: SeatId, wanted: Operation) -> OperationResult:
        """Execute one operation, or refuse it; in both cases it is numbered and answered."""
        number = self.board.operations + self.board.refused + 1
        name = one_line(wanted.operation)[:100]
        result = OperationResult(number=number, seat=seat, operation=name, success=True)
        try:
            result = replace(result, **self._handle(seat, name, wanted.params or {})._asdict())
        except OperationRefused as refused:
            result = replace(result, success=False, error=refused.error, detail=refused.detail)
        self.add_result(result)
        return result

    def replay(self, seat: SeatId, wanted: Operation, recorded: OperationResult) -> None:
        """Apply one operation as it was recorded: its result is read from the record, not computed again."""
        self.add_result(recorded)
        if recorded.success:
            # Where the record accepted what these rules refuse, it stands; `moot replay` shows the difference.
            with suppress(OperationRefused):
                self._handle(seat, recorded.operation, wanted.params or {})
        pheromone = self.board.pheromones.get(direction_key(recorded.target))
        if recorded.after is not None and pheromone is not None:
            self._set_pheromone(replace(pheromone, concentration=recorded.after))

    def add_result(self, result: OperationResult) -> None:
        self.results.append(result)
        operations, refused = (
            self.board.operations + result.success,
            self.board.refused + (not result.success),
        )
        self._change_board(operations=operations, refused=refused)

    def _handle(self, seat: SeatId, name: str, params: Mapping[str, object]) -> OperationEffect:
        handler = _HANDLERS.get(name)
        if handler is None:
            raise OperationRefused(f"known: {', '.join(_HANDLERS)}", "unknown_operation")
        agent = self.agents.get(seat)
        if agent is None or agent.status in {"terminated", "removed"}:
            raise OperationRefused("this agent takes no part any more", "agent_not_found")
        return handler(self, agent, **read_params(name, params))

    def _deposit_pheromone(
        self, agent: Agent, direction: Direction, amount: answers.Amount = 0.0
    ) -> OperationEffect:
        amount = amount or self._settings.deposit
        if amount > self._settings.max_deposit:
            raise OperationRefused(
                f"amount must be more than 0 and at most {self._settings.max_deposit:g}"
            )
        key = direction_key(direction)
        if key not in self.board.pheromones and len(self.board.pheromones) >= MAX_DIRECTIONS:
            raise OperationRefused(f"the blackboard has {MAX_DIRECTIONS} directions already")
        effect = self._add_deposit(direction, agent.seat, amount)
        readings = self.board.readings.get(key, {})
        count, total = readings.get(agent.seat, (0, 0.0))
        self._change_board(
            readings={
                **self.board.readings,
                key: {**readings, agent.seat: (count + 1, total + amount)},
            }
        )
        self._change_agent(
            agent, deposits=agent.deposits + 1, read=_add_once(self.agents[agent.seat].read, key)
        )
        return effect

    def _add_deposit(self, direction: str, by: SeatId, amount: float) -> OperationEffect:
        new = Pheromone(
            direction=direction, concentration=0.0, deposited_by=(), round=self._state.round
        )
        pheromone = self.board.pheromones.get(direction_key(direction), new)
        after, others = add_deposit(pheromone.concentration, amount), (*pheromone.deposited_by, by)
        self._set_pheromone(
            replace(pheromone, concentration=after, deposited_by=tuple(dict.fromkeys(others)))
        )
        return OperationEffect(pheromone.direction, pheromone.concentration, after)

    def _set_pheromone(self, pheromone: Pheromone) -> None:
        self._change_board(
            pheromones={**self.board.pheromones, direction_key(pheromone.direction): pheromone}
        )

    def seed(self, direction: str, by: SeatId) -> None:
        """Put one of the user's directions on the blackboard."""
        words = one_line(direction)[:MAX_DIRECTION_LENGTH]
        if words:
            self._add_deposit(words, by, self._settings.deposit)

    def _send_stop_signal(
        self,
        agent: Agent,
        target_direction: Direction,
        reason: answers.SignalReason,
        evidence: answers.Evidence,
    ) -> OperationEffect:
        if not self._settings.stop_signals:
            raise OperationRefused("stop signals are switched off in this run")
        key = direction_key(target_direction)
        pheromone = self.board.pheromones.get(key)
        if pheromone is None:
            raise OperationRefused("targetDirection is not on the blackboard")
        # One agent cuts a direction once: repeated signals of one mind would weigh like those of several.
        if key in self.agents[agent.seat].cuts:
            raise OperationRefused("you have sent a stop signal against this direction already")
        # Signals are numbered over the whole run: expired ones are removed from the list, so its length would repeat ids.
        number = self.board.signals_made + 1
        signal = Signal(
            id=f"signal-{number}",
            sender=agent.seat,
            target=key,
            reason=reason,
            evidence=evidence,
            strength=self._settings.signal_strength,
            round=self._state.round,
            at=self._state.clock,
        )
        after = apply_stop_signal(pheromone.concentration, signal.strength)
        self._set_pheromone(replace(pheromone, concentration=after))
        self._change_board(signals=(*self.board.signals, signal), signals_made=number)
        self._change_agent(
            agent, signals_sent=agent.signals_sent + 1, cuts=self.agents[agent.seat].cuts | {key}
        )
        # Agents on the inhibited direction are counted as receivers, because their next order may tell them to switch.
        for seat, other in self.agents.items():
            if seat != agent.seat and direction_key(other.direction) == key:
                self._change_agent(other, signals_received=other.signals_received + 1)
        return OperationEffect(pheromone.direction, pheromone.concentration, after, signal.id)

    def _claim_subtask(self, agent: Agent, description: answers.Words) -> OperationEffect:
        # The id is a hash of the normalized text: two agents that describe the same subtask share its claim.
        name = f"subtask-{sha256(normalize_label(description).encode()).hexdigest()[:8]}"
        claim = self.board.claims.get(name)
        if claim is None:
            if len(self.board.claims) >= MAX_CLAIMS:
                raise OperationRefused(f"the blackboard has {MAX_CLAIMS} subtasks already")
            claim = SubtaskClaim(
                id=name, description=description, claimed_by=(), round=self._state.round
            )
        if agent.seat not in claim.claimed_by:
            if len(claim.claimed_by) >= self._settings.agents_per_task:
                raise OperationRefused(
                    f"{self._settings.agents_per_task} agents work on it already",
                    "max_agents_reached",
                )
            claim = replace(claim, claimed_by=(*claim.claimed_by, agent.seat))
        self._change_board(claims={**self.board.claims, name: claim})
        self._change_agent(agent, subtask=name)
        return OperationEffect(name)

    def _add_finding(self, agent: Agent, **said: Any) -> OperationEffect:
        stated = StatedIdea(**said)
        if not normalize_idea(stated.core_idea):
            raise OperationRefused("coreIdea must say something")
        place = {
            "number": len(self.board.findings) + 1,
            "round": self._state.round,
            "direction": agent.direction,
        }
        finding = copy_fields(Finding, stated, seat=agent.seat, **place)
        view = finding.perspective
        if not view and not self._state.seat(agent.seat).is_outside:
            # Nobody asked it for a perspective: where it looked counts as one (S-18).
            view = finding.direction
        views = {normalize_label(view)} if view else set()
        self._change_board(
            findings=(*self.board.findings, finding), perspectives=self.board.perspectives | views
        )
        self._change_agent(agent, findings=agent.findings + 1)
        return OperationEffect(finding.id)

    def _request_role(
        self, agent: Agent, new_role: answers.Words, reason: answers.Text = ""
    ) -> OperationEffect:
        # `DEEP_ANALYST`, `DeepAnalyst` and `deep_analyst` name the same role.
        roles: dict[str, Role] = {str(role).replace("_", ""): role for role in get_args(Role)}
        role = roles.get(new_role.upper().replace("_", ""))
        if role is None:
            raise OperationRefused(f"newRole must be one of: {', '.join(get_args(Role))}")
        # Only a request: roles change when the round is settled, so that all operations of a round see the same roles.
        self._change_agent(agent, wanted_role=role)
        return OperationEffect(
            role, detail="requested: granted at the end of the round if the rule allows it"
        )

    def _update_own_state(
        self, agent: Agent, updates: Mapping[str, answers.Param]
    ) -> OperationEffect:
        if not isinstance(updates, Mapping) or not updates:
            raise OperationRefused(f"updates must be an object with {' or '.join(OWN_FIELDS)}")
        forbidden = [one_line(str(name))[:100] for name in updates if name not in OWN_FIELDS]
        if forbidden:
            raise OperationRefused(
                f"{forbidden[0]!r} is not yours to set; you may set {' and '.join(OWN_FIELDS)}"
            )
        before = (agent.direction, agent.subtask)
        direction, subtask = (
            _read_own_field(name, updates, old)
            for name, old in zip(OWN_FIELDS, before, strict=True)
        )
        claim = self.board.claims.get(subtask)
        # Claims are limited per subtask, so an agent cannot take one by writing it into its own state.
        if (
            subtask != agent.subtask
            and subtask
            and (claim is None or agent.seat not in claim.claimed_by)
        ):
            raise OperationRefused("claimedSubtask must be null or one that you have claimed")
        self._change_agent(agent, direction=direction, subtask=subtask)
        return OperationEffect(agent.seat)

    def set_direction(self, seat: SeatId, direction: str) -> None:
        """Set the direction that an agent's report says it took: it has read that one."""
        words = one_line(direction)[:MAX_DIRECTION_LENGTH]
        if words and seat in self.agents:
            read = _add_once(self.agents[seat].read, direction_key(words))
            self._change_agent(self.agents[seat], direction=words, read=read)

    def take_turns(self) -> Iterator[tuple[SeatId, Operation]]:
        """Yield the operations of the round in their order; before its own, an agent takes the direction of its report."""
        for seat, report in list_reports_in_turn(self._state):
            self.set_direction(seat, report.direction)
            yield from ((seat, wanted) for wanted in list_operations(report))

    def _change_board(self, **changes: object) -> None:
        self.board = fast_replace(self.board, **changes)  # type: ignore[arg-type]  # fields of Board

    def _change_agent(self, agent: Agent, **changes: object) -> None:
        # From `self.agents` and not from the argument: an earlier operation of the round may have changed the agent.
        self.agents[agent.seat] = fast_replace(self.agents[agent.seat], **changes)  # type: ignore[arg-type]  # fields of Agent


_HANDLERS: Final[dict[str, Callable[..., OperationEffect]]] = {
    "deposit_pheromone": BlackboardEditor._deposit_pheromone,
    "send_stop_signal": BlackboardEditor._send_stop_signal,
    "claim_subtask": BlackboardEditor._claim_subtask,
    "update_finding": BlackboardEditor._add_finding,
    "transition_role": BlackboardEditor._request_role,
    "update_agent_state": BlackboardEditor._update_own_state,
}


@cache
def list_params(operation: str) -> dict[str, Parameter]:
    """Return the parameters of an operation as the protocol names them, with their types, limits and defaults."""
    source: Callable[..., object] = (
        StatedIdea if operation == "update_finding" else _HANDLERS[operation]
    )
    return {
        to_camel_case(name): each
        for name, each in signature(source).parameters.items()
        if name not in {"self", "agent"}
    }


def read_params(operation: str, params: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters of an operation by the names of its handler; raises OperationRefused."""
    known = list_params(operation)
    if operation == "update_finding":
        params = _unwrap_finding(params)
    unknown = next((one_line(str(name))[:100] for name in params if name not in known), None)
    if unknown is not None:
        raise OperationRefused(f"unknown parameter {unknown!r}; known: {', '.join(known)}")
    missing = [
        name
        for name, each in known.items()
        if each.default is Parameter.empty and name not in params
    ]
    if missing:
        raise OperationRefused(f"{missing[0]} is missing")
    return {
        known[name].name: _read_value(name, value, known[name].annotation)
        for name, value in params.items()
    }


def _unwrap_finding(params: Mapping[str, object]) -> Mapping[str, object]:
    """Models often wrap a finding in an object `finding`, and write null for what they leave out; both are accepted."""
    inner = params.get("finding") if set(params) == {"finding"} else params
    return (
        {name: value for name, value in inner.items() if value is not None}
        if isinstance(inner, Mapping)
        else params
    )


def _read_own_field(name: str, updates: Mapping[str, answers.Param], old: str) -> str:
    """Return a field of an agent's own state after an update; null empties it."""
    if name not in updates:
        return old
    if updates[name] is None:
        return ""
    return str(_read_value(name, updates[name], Direction))


def _read_value(name: str, value: object, kind: object) -> object:
    """Return a text on one line, and details without control characters; raises OperationRefused for what breaks its limits."""
    if name == "agreesWith":
        listed = value if isinstance(value, tuple | list) else (value,)
        value = tuple(one_line(each) if isinstance(each, str) else each for each in listed)
    elif isinstance(value, str):
        value = strip_control(value.strip()) if name == "details" else one_line(value)
    violation = explain_violation(name, value, kind)
    if violation is not None:
        raise OperationRefused(violation)
    return value


def _add_once(keys: tuple[str, ...], key: str) -> tuple[str, ...]:
    return keys if key in keys else (*keys, key)


def list_operations(report: RoundReport) -> Iterator[Operation]:
    """Yield the operations of a report: those it lists, then its findings."""
    yield from report.operations
    for finding in report.findings:
        yield Operation(operation="update_finding", params=take_fields(finding, _FINDING))


def run_operations(state: Swarm) -> BlackboardEditor:
    """Execute all operations of the round, agent by agent."""
    editor = BlackboardEditor(state)
    for seat, wanted in editor.take_turns():
        editor.execute(seat, wanted)
    return editor


def replay_operations(state: Swarm, results: Iterable[OperationResult]) -> BlackboardEditor:
    """Apply all operations of the round as they were recorded."""
    editor, recorded = BlackboardEditor(state), iter(results)
    # `zip` stops at the shorter side without taking from `recorded`, because the operations are its first argument.
    for (seat, wanted), result in zip(editor.take_turns(), recorded, strict=False):
        editor.replay(seat, wanted, result)
    # Results beyond the reports are kept, so that the counts equal the record.
    for result in recorded:
        editor.add_result(result)
    return editor


def list_reports_in_turn(state: Swarm) -> Iterator[tuple[SeatId, RoundReport]]:
    """Yield the reports of the round. Whose operations come first rotates with the round; who answered first does not matter."""
    at = (state.round - 1) % len(state.explorers)
    seats = (*state.explorers[at:], *state.explorers[:at])
    yield from ((seat, state.answered[seat]) for seat in seats if seat in state.answered)
