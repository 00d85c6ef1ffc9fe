"""The six operations: the only way for an agent to change the blackboard.

Each is checked, numbered, carried out once or refused, and answered. An agent reaches what is its own alone: of its state the
direction and the subtask, of everything else what its operation says. Nothing here can set a concentration.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final, get_args

from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace
from moot.domain.safe_text import one_line, strip_control
from moot.domain.topic import normalize_label
from moot.protocols.swarm.answers import Confidence, FoundIdea, Operation, RoundReport
from moot.protocols.swarm.facts import OperationResult, Role, SwarmSettings
from moot.protocols.swarm.state import Agent, Board, Finding, Pheromone, Signal, SubtaskClaim, Swarm
from moot.scoring.likeness import normalize_idea
from moot.scoring.stigmergy import add_deposit, apply_stop_signal

REASONS: Final = ("contradictory_evidence", "better_alternative", "resource_conflict")
OWN_FIELDS: Final = ("current.exploringDirection", "current.claimedSubtask")
LONGEST_DIRECTION: Final = 200
MOST_DIRECTIONS: Final = 256
MOST_CLAIMS: Final = 256
_FINDING: Final = (
    "coreIdea",
    "perspective",
    "details",
    "agreesWith",
    "confidence",
    "needsValidation",
    "searchAttempted",
)


class OperationRefused(Exception):
    """An operation that cannot be carried out: `error` as the protocol names it, and what was expected."""

    def __init__(self, error: str, detail: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.detail = detail


class OperationEffect:
    """What an operation did."""

    def __init__(self, target: str = "", before: float | None = None, after: float | None = None, detail: str = "") -> None:
        self.target, self.before, self.after, self.detail = target, before, after, detail


class BlackboardEditor:
    """The blackboard while the operations of one round are carried out: copied once, not once for each of them."""

    def __init__(self, state: Swarm) -> None:
        self.settings: SwarmSettings = state.settings
        self.round = state.round
        self.clock = state.clock
        self.agents = dict(state.agents)
        self._board = state.board
        self._pheromones = dict(state.board.pheromones)
        self._claims = dict(state.board.claims)
        self._signals = list(state.board.signals)
        self._signals_made = state.board.signals_made
        self._findings = list(state.board.findings)
        self._perspectives = set(state.board.perspectives)
        self.results: list[OperationResult] = []
        self._told: OperationResult | None = None

    def execute(self, seat: SeatId, wanted: Operation) -> OperationResult:
        """Carry one operation out, or refuse it; either way it is numbered and answered."""
        number = self._board.operations + self._board.refused + len(self.results) + 1
        name = one_line(wanted.operation)[:100]
        try:
            done = self._handle(seat, name, wanted.params or {})
        except OperationRefused as refused:
            result = OperationResult(
                number=number, seat=seat, operation=name, success=False, error=refused.error, detail=refused.detail
            )
        else:
            result = OperationResult(
                number=number,
                seat=seat,
                operation=name,
                success=True,
                target=done.target,
                before=done.before,
                after=done.after,
                detail=done.detail,
            )
        self.results.append(result)
        return result

    def replay(self, seat: SeatId, wanted: Operation, told: OperationResult) -> None:
        """Carry one out as the record tells: what it came to is read, not reckoned."""
        self.results.append(told)
        if not told.success:
            return
        self._told = told
        try:
            self._handle(seat, told.operation, wanted.params or {})
        except OperationRefused:
            # An earlier rulebook took what this one would not: its result stands, and a replay tells the difference.
            pass
        finally:
            self._told = None

    def _choose_concentration(self, reckoned: float) -> float:
        return reckoned if self._told is None or self._told.after is None else self._told.after

    def _find_direction_key(self, direction: str) -> str:
        """The key of a direction; where the record says which direction it is, that one's."""
        if self._told is not None:
            known = next((key for key, each in self._pheromones.items() if each.direction == self._told.target), None)
            return known or _build_key(self._told.target or direction)
        return _build_key(direction)

    def board(self) -> Board:
        """The blackboard after all of them."""
        failed = sum(not result.success for result in self.results)
        return fast_replace(
            self._board,
            pheromones=self._pheromones,
            claims=self._claims,
            signals=tuple(self._signals),
            signals_made=self._signals_made,
            findings=tuple(self._findings),
            perspectives=frozenset(self._perspectives),
            operations=self._board.operations + len(self.results) - failed,
            refused=self._board.refused + failed,
        )

    def _handle(self, seat: SeatId, name: str, params: Mapping[str, object]) -> OperationEffect:
        handler = _HANDLERS.get(name)
        if handler is None:
            raise OperationRefused("unknown_operation", f"known: {', '.join(_HANDLERS)}")
        agent = self.agents.get(seat)
        if agent is None or agent.status in {"terminated", "removed"}:
            raise OperationRefused("agent_not_found", "this agent takes no part any more")
        return handler(self, agent, params)

    def _deposit_pheromone(self, agent: Agent, params: Mapping[str, object]) -> OperationEffect:
        _validate_names(params, "direction", "amount")
        direction = _read_text(params, "direction", LONGEST_DIRECTION)
        amount = _read_number(params.get("amount", self.settings.deposit), "amount")
        if not 0 < amount <= self.settings.most_deposit:
            raise OperationRefused("invalid_params", f"amount must be more than 0 and at most {self.settings.most_deposit:g}")
        key = self._find_direction_key(direction)
        found = self._pheromones.get(key)
        if found is None and len(self._pheromones) >= MOST_DIRECTIONS:
            raise OperationRefused("invalid_params", f"the blackboard has {MOST_DIRECTIONS} directions already")
        before = found.concentration if found is not None else 0.0
        after = self._choose_concentration(add_deposit(before, amount))
        self._set_pheromone(key, direction, agent.seat, after)
        self._change_agent(agent, deposits=agent.deposits + 1)
        return OperationEffect(self._pheromones[key].direction, before, after)

    def _set_pheromone(self, key: str, direction: str, by: SeatId, after: float) -> None:
        found = self._pheromones.get(key)
        if found is None:
            self._pheromones[key] = Pheromone(direction=direction, concentration=after, deposited_by=(by,), round=self.round)
            return
        others = found.deposited_by if by in found.deposited_by else (*found.deposited_by, by)
        self._pheromones[key] = replace(found, concentration=after, deposited_by=others)

    def seed(self, direction: str, by: SeatId) -> None:
        """Lay down a direction of the user's."""
        words = one_line(direction)[:LONGEST_DIRECTION]
        if words:
            key = _build_key(words)
            before = self._pheromones[key].concentration if key in self._pheromones else 0.0
            self._set_pheromone(key, words, by, add_deposit(before, self.settings.deposit))

    def _send_stop_signal(self, agent: Agent, params: Mapping[str, object]) -> OperationEffect:
        _validate_names(params, "targetDirection", "reason", "evidence")
        direction = _read_text(params, "targetDirection", LONGEST_DIRECTION)
        reason = params.get("reason")
        if reason not in REASONS:
            raise OperationRefused("invalid_params", f"reason must be one of: {', '.join(REASONS)}")
        evidence = _read_text(params, "evidence", 4_000)
        if not self.settings.stop_signals:
            raise OperationRefused("invalid_params", "stop signals are switched off in this run")
        key = self._find_direction_key(direction)
        found = self._pheromones.get(key)
        if found is None:
            raise OperationRefused("invalid_params", "targetDirection is not on the blackboard")
        self._signals_made += 1
        signal = Signal(
            id=f"signal-{self._signals_made}",
            sender=agent.seat,
            target=key,
            reason=str(reason),
            evidence=evidence,
            strength=self.settings.signal_strength,
            round=self.round,
            at=self.clock,
        )
        self._signals.append(signal)
        after = self._choose_concentration(apply_stop_signal(found.concentration, signal.strength))
        self._pheromones[key] = replace(found, concentration=after)
        self._change_agent(agent, signals_sent=agent.signals_sent + 1)
        for seat, other in self.agents.items():
            if seat != agent.seat and _build_key(other.direction) == key:
                self._change_agent(other, signals_received=other.signals_received + 1)
        return OperationEffect(found.direction, found.concentration, after, signal.id)

    def _claim_subtask(self, agent: Agent, params: Mapping[str, object]) -> OperationEffect:
        _validate_names(params, "description")
        description = _read_text(params, "description", 500)
        name = f"subtask-{sha256(normalize_label(description).encode()).hexdigest()[:8]}"
        if self._told is not None:
            name = self._told.target or name
        found = self._claims.get(name)
        if found is None:
            if len(self._claims) >= MOST_CLAIMS:
                raise OperationRefused("invalid_params", f"the blackboard has {MOST_CLAIMS} subtasks already")
            found = SubtaskClaim(id=name, description=description, claimed_by=(), round=self.round)
        if agent.seat not in found.claimed_by:
            if len(found.claimed_by) >= self.settings.agents_per_task:
                raise OperationRefused("max_agents_reached", f"{self.settings.agents_per_task} agents work on it already")
            found = replace(found, claimed_by=(*found.claimed_by, agent.seat))
        self._claims[name] = found
        self._change_agent(agent, subtask=name)
        return OperationEffect(name)

    def _add_finding(self, agent: Agent, params: Mapping[str, object]) -> OperationEffect:
        if set(params) == {"finding"}:
            inner = params["finding"]
            if not isinstance(inner, Mapping):
                raise OperationRefused("invalid_params", "finding must be an object")
            params = inner
        _validate_names(params, *_FINDING)
        idea = _read_text(params, "coreIdea", 500)
        if not normalize_idea(idea):
            raise OperationRefused("invalid_params", "coreIdea must say something")
        confidence: Confidence | None = None
        if params.get("confidence") is not None:
            known = {str(each): each for each in get_args(Confidence)}
            confidence = known.get(str(params["confidence"]))
            if confidence is None:
                raise OperationRefused("invalid_params", "confidence must be high, medium or low")
        finding = Finding(
            number=len(self._findings) + 1,
            seat=agent.seat,
            round=self.round,
            direction=agent.direction,
            core_idea=idea,
            perspective=_read_text(params, "perspective", 100, is_needed=False),
            details=strip_control(_read_text(params, "details", 4_000, is_needed=False, is_line=False)),
            agrees_with=_read_texts(params.get("agreesWith")),
            confidence=confidence,
            needs_validation=_read_flag(params, "needsValidation"),
            search_attempted=_read_flag(params, "searchAttempted"),
        )
        self._findings.append(finding)
        if finding.perspective:
            self._perspectives.add(normalize_label(finding.perspective))
        self._change_agent(agent, findings=agent.findings + 1)
        return OperationEffect(finding.id)

    def _request_role(self, agent: Agent, params: Mapping[str, object]) -> OperationEffect:
        _validate_names(params, "newRole", "reason")
        roles: dict[object, Role] = {str(role).replace("_", ""): role for role in get_args(Role)}
        wanted = params.get("newRole")
        role = roles.get(wanted.upper().replace("_", "")) if isinstance(wanted, str) else None
        if role is None:
            raise OperationRefused("invalid_params", f"newRole must be one of: {', '.join(get_args(Role))}")
        _read_text(params, "reason", 4_000, is_needed=False)
        self._change_agent(agent, wanted_role=role)
        return OperationEffect(role, detail="requested: granted at the end of the round if the rule allows it")

    def _update_own_state(self, agent: Agent, params: Mapping[str, object]) -> OperationEffect:
        _validate_names(params, "updates")
        updates = params.get("updates")
        if not isinstance(updates, Mapping) or not updates:
            raise OperationRefused("invalid_params", f"updates must be an object with {' or '.join(OWN_FIELDS)}")
        forbidden = [one_line(str(name))[:100] for name in updates if name not in OWN_FIELDS]
        if forbidden:
            raise OperationRefused(
                "invalid_params", f"{forbidden[0]!r} is not yours to set; you may set {' and '.join(OWN_FIELDS)}"
            )
        direction, subtask = agent.direction, agent.subtask
        if OWN_FIELDS[0] in updates:
            direction = "" if updates[OWN_FIELDS[0]] is None else _read_text(updates, OWN_FIELDS[0], LONGEST_DIRECTION)
        if OWN_FIELDS[1] in updates:
            subtask = "" if updates[OWN_FIELDS[1]] is None else _read_text(updates, OWN_FIELDS[1], 100)
            claim = self._claims.get(subtask)
            if subtask and (claim is None or agent.seat not in claim.claimed_by):
                raise OperationRefused("invalid_params", "claimedSubtask must be null or one that you have claimed")
        self._change_agent(agent, direction=direction, subtask=subtask)
        return OperationEffect(agent.seat)

    def set_direction(self, seat: SeatId, direction: str) -> None:
        """An agent's report says which direction it took."""
        words = one_line(direction)[:LONGEST_DIRECTION]
        if words and seat in self.agents:
            self._change_agent(self.agents[seat], direction=words)

    def _change_agent(self, agent: Agent, **changes: object) -> None:
        self.agents[agent.seat] = fast_replace(self.agents[agent.seat], **changes)  # type: ignore[arg-type]  # fields of Agent


_HANDLERS: Final[dict[str, Callable[[BlackboardEditor, Agent, Mapping[str, object]], OperationEffect]]] = {
    "deposit_pheromone": BlackboardEditor._deposit_pheromone,
    "send_stop_signal": BlackboardEditor._send_stop_signal,
    "claim_subtask": BlackboardEditor._claim_subtask,
    "update_finding": BlackboardEditor._add_finding,
    "transition_role": BlackboardEditor._request_role,
    "update_agent_state": BlackboardEditor._update_own_state,
}
OPERATIONS: Final = tuple(_HANDLERS)


def direction_key(direction: str) -> str:
    """A direction as it is compared: without case, width and surrounding marks."""
    return _build_key(direction)


def _build_key(direction: str) -> str:
    return normalize_label(direction) or direction


def list_operations(report: RoundReport) -> Iterator[Operation]:
    """The operations that a report asks for: those it lists, then its findings."""
    yield from report.operations
    for finding in report.findings:
        yield Operation(operation="update_finding", params=_build_params(finding))


def _build_params(finding: FoundIdea) -> dict[str, str | bool | tuple[str, ...] | None]:
    return {
        "coreIdea": finding.core_idea,
        "perspective": finding.perspective,
        "details": finding.details,
        "agreesWith": finding.agrees_with,
        "confidence": finding.confidence,
        "needsValidation": finding.needs_validation,
        "searchAttempted": finding.search_attempted,
    }


def rotate_seats(seats: Sequence[SeatId], number: int) -> tuple[SeatId, ...]:
    """Whose operations come first: it goes round, so that nobody is always before the others; never by who answered first."""
    at = (number - 1) % len(seats) if seats else 0
    return (*seats[at:], *seats[:at])


def run_operations(state: Swarm) -> BlackboardEditor:
    """All operations of the round carried out, agent by agent."""
    bench = BlackboardEditor(state)
    for seat, report in _list_reports_in_turn(state):
        bench.set_direction(seat, report.direction)
        for wanted in list_operations(report):
            bench.execute(seat, wanted)
    return bench


def replay_operations(state: Swarm, results: Iterable[OperationResult]) -> BlackboardEditor:
    """All operations of the round as the record tells them."""
    bench = BlackboardEditor(state)
    told = iter(results)
    for seat, report in _list_reports_in_turn(state):
        bench.set_direction(seat, report.direction)
        for wanted, result in zip(list_operations(report), told, strict=False):
            bench.replay(seat, wanted, result)
    bench.results.extend(told)
    return bench


def _list_reports_in_turn(state: Swarm) -> Iterator[tuple[SeatId, RoundReport]]:
    for seat in rotate_seats(state.explorers, state.round):
        report = state.answered.get(seat)
        if report is not None:
            yield seat, report


def _validate_names(params: Mapping[str, object], *known: str) -> None:
    unknown = [one_line(str(name))[:100] for name in params if name not in known]
    if unknown:
        raise OperationRefused("invalid_params", f"unknown parameter {unknown[0]!r}; known: {', '.join(known)}")


def _read_text(params: Mapping[str, object], name: str, longest: int, *, is_needed: bool = True, is_line: bool = True) -> str:
    value = params.get(name)
    if value is None and not is_needed:
        return ""
    if not isinstance(value, str):
        raise OperationRefused("invalid_params", f"{name} must be a text")
    words = one_line(value) if is_line else value.strip()
    if is_needed and not words:
        raise OperationRefused("invalid_params", f"{name} is empty")
    if len(words) > longest:
        raise OperationRefused("invalid_params", f"{name} has {len(words)} characters; at most {longest} are taken")
    return words


def _read_texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, tuple | list) or not all(isinstance(each, str) for each in listed):
        raise OperationRefused("invalid_params", "agreesWith must be a list of texts")
    return tuple(words for each in listed[:10] if (words := one_line(each)[:500]))


def _read_number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OperationRefused("invalid_params", f"{name} must be a number")
    if isinstance(value, int):
        # Beyond any bound it is as wrong as at this one, and no float holds every whole number.
        return float(max(-1_000, min(1_000, value)))
    if not math.isfinite(value):
        raise OperationRefused("invalid_params", f"{name} must be a finite number")
    return value


def _read_flag(params: Mapping[str, object], name: str) -> bool:
    value = params.get(name, False)
    if not isinstance(value, bool):
        raise OperationRefused("invalid_params", f"{name} must be true or false")
    return value
