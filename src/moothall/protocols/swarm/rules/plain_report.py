"""What Moot makes of the plain report of a seat that it asks itself (S-37, S-39).

Such a seat reports findings, and how good an answer each makes. Of that Moot makes the operations of the protocol: a rating
becomes a deposit on the answer, a low one with details a stop signal against it, and the direction that was given a subtask that
is claimed and done. Each of them is recorded as made by Moot. A report that brings operations of its own stands as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from moothall.domain.ids import SeatId
from moothall.domain.safe_text import compile_late, one_line
from moothall.protocols.swarm.answers import Operation, RoundReport, StatedIdea
from moothall.protocols.swarm.rules.evidence import AnswerIndex, direction_key
from moothall.protocols.swarm.state import Swarm
from moothall.scoring.likeness import normalize_idea
from moothall.scoring.stigmergy import DIGITS

STOP_BELOW: Final = 0.3
"""A finding with a lower rating and with details speaks against its answer."""
HELD_FROM: Final = 0.5
"""From this rating on a finding stands behind its answer."""
_NUMBER: Final = compile_late(r"\s*(?:#|idea-)?(\d{1,9})\s*(?:[.。]\s*)?")


def is_asked_plainly(state: Swarm, seat: SeatId) -> bool:
    """Whether a seat is asked in plain words: each that Moot asks itself."""
    return not state.seat(seat).is_outside


def complete_report(state: Swarm, seat: SeatId, report: RoundReport) -> RoundReport:
    """Return a plain report with the ideas that it names by number in their words, and with the operations that follow."""
    findings = [_name_idea(state, each) for each in report.findings]
    stated = {normalize_idea(each.core_idea) for each in findings}
    for idea in state.board.list_ideas(report.holds):
        if normalize_idea(idea.text) not in stated:
            findings.append(StatedIdea(core_idea=idea.text))
    # An opinion that is not said again would lapse: what a seat holds are the findings of its last report.
    report = replace(report, findings=tuple(findings))
    if report.operations or state.settings.mode == "classic":
        return report
    return replace(report, operations=tuple(_list_operations(state, seat, report)))


def _name_idea(state: Swarm, finding: StatedIdea) -> StatedIdea:
    """Return a finding with the words of the idea that it names by its number."""
    match = _NUMBER.fullmatch(finding.core_idea)
    idea = None
    if match is not None:
        idea = state.board.idea(int(match[1]))
    if idea is None:
        return finding
    return replace(finding, core_idea=idea.text)


def _list_operations(state: Swarm, seat: SeatId, report: RoundReport) -> Iterator[Operation]:
    # The claim first: the deposits that follow belong to the direction that was given.
    yield from _claim_direction(state, seat)
    index, cut = AnswerIndex(state), set(state.agents[seat].cuts)
    for finding in report.findings:
        # A rating of 0 leaves nothing to deposit.
        if not finding.rating:
            continue
        direction = _find_direction(state, index, finding)
        amount = round(state.settings.max_deposit * finding.rating, DIGITS)
        if amount:
            yield _build_operation("deposit_pheromone", direction=direction, amount=amount)
    for finding in report.findings:
        if finding.rating is None or finding.rating >= STOP_BELOW or not finding.details.strip():
            continue
        direction = _find_direction(state, index, finding)
        key = direction_key(direction)
        # Against an answer of its own that nobody has brought before there is nothing to stop.
        if key in state.board.pheromones and key not in cut and state.settings.stop_signals:
            cut.add(key)
            yield _build_operation(
                "send_stop_signal",
                targetDirection=direction,
                reason="contradictory_evidence",
                evidence=one_line(finding.details),
            )


def _claim_direction(state: Swarm, seat: SeatId) -> Iterator[Operation]:
    """Yield the claim of the direction that was given, and its release: with the report the subtask is done."""
    direction = state.orders[seat].given
    if not direction:
        return
    # All of a round are asked at once: who is before this seat in it takes a place, too.
    claimed = _find_claimants(state, direction)
    sharing = [each for each, order in state.orders.items() if order.given == direction]
    before = [each for each in sharing[: sharing.index(seat)] if each not in claimed]
    if seat not in claimed and len(claimed) + len(before) >= state.settings.agents_per_task:
        return
    yield _build_operation("claim_subtask", description=direction)
    yield _build_operation("update_agent_state", updates={"current.claimedSubtask": None})


def _find_claimants(state: Swarm, direction: str) -> tuple[SeatId, ...]:
    for claim in state.board.claims.values():
        if direction_key(claim.description) == direction_key(direction):
            return claim.claimed_by
    return ()


def _find_direction(state: Swarm, index: AnswerIndex, finding: StatedIdea) -> str:
    """Return the direction that stands for the answer of a finding: an option, one on the blackboard, or the answer itself."""
    if finding.option:
        return finding.option
    board = state.board
    number = board.by_text.get(normalize_idea(finding.core_idea), 0)
    for key, answer in index.by_direction.items():
        if number and answer == number and key in board.pheromones:
            return board.pheromones[key].direction
    return one_line(finding.core_idea)


def _build_operation(name: str, **params: Any) -> Operation:
    given: Mapping[str, Any] = params
    return Operation(operation=name, params=given, by_moot=True)
