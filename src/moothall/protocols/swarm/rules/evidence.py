"""The readings of a swarm, and the direction that they favour (S-30).

A reading is a deposit: its amount says how good a direction looked to the explorer that was there. In the closing ballot each
explorer rates the directions that it read itself; its rating then stands for all of its deposits there.
"""

from dataclasses import replace
from typing import Final

from moothall.domain.ids import SeatId
from moothall.protocols.swarm.facts import EvidenceChoice
from moothall.protocols.swarm.rules.directions import direction_key
from moothall.protocols.swarm.state import Finding, Swarm
from moothall.scoring.evidence import ExplorerReading, judge_evidence, scale_deposits

MAX_RATED: Final = 12
MAX_RANKED: Final = 12
CLEAR_READINGS: Final = 2
"""A leader is clear only when every direction has been read so often."""


def list_rated_directions(state: Swarm, seat: SeatId) -> dict[int, str]:
    """Return the directions that an explorer is asked to rate, by their numbers on the blackboard: those it read last."""
    numbers = {key: number for number, key in enumerate(state.board.pheromones, 1)}
    read = [key for key in state.agents[seat].read if key in numbers][-MAX_RATED:]
    return {numbers[key]: state.board.pheromones[key].direction for key in read}


def collect_ratings(state: Swarm) -> dict[tuple[str, SeatId], float]:
    """Return the ratings of all ballots by direction and explorer; a direction that it did not read is left out."""
    keys = list(state.board.pheromones)
    return {
        (keys[each.direction - 1], seat): each.rating
        for seat, ballot in state.ballots.items()
        if ballot is not None
        for each in ballot.ratings
        if each.direction <= len(keys) and keys[each.direction - 1] in state.agents[seat].read
    }


def build_choice(state: Swarm) -> EvidenceChoice | None:
    """Return the direction that the readings favour; None if nobody read any."""
    ratings = collect_ratings(state)
    amounts = {(key, seat): each for key, seats in state.board.readings.items() for seat, each in seats.items()}
    factor = scale_deposits(amounts, ratings, state.settings.max_deposit)
    standings = _weigh_findings(state)
    held = _list_held_directions(state)
    readings = []
    for key, seat in amounts.keys() | ratings.keys():
        count, total = amounts.get((key, seat), (0, 0.0))
        value = ratings[key, seat] if (key, seat) in ratings else total / count * factor
        agent = state.agents[seat]
        readings.append(
            ExplorerReading(
                direction=key,
                reader=seat,
                value=min(1.0, value),
                count=max(1, count) * standings.get((key, seat), 1.0),
                # Where amounts say nothing: what it holds comes before what it leaves, and that before what it warned of.
                rank=float((key in held[seat]) - (key in agent.cuts)),
            )
        )
    verdict = judge_evidence(readings)
    if verdict is None:
        return None
    names = {key: each.direction for key, each in state.board.pheromones.items()}
    leader = verdict.ranked[0].direction
    return EvidenceChoice(
        direction=names[leader],
        method=verdict.method,
        ranked=tuple(replace(each, direction=names[each.direction]) for each in verdict.ranked[:MAX_RANKED]),
        margin=verdict.margin,
        z=verdict.z,
        needed=verdict.needed,
        decisive=verdict.decisive,
        idea=_find_stating_idea(state, leader),
    )


def _weigh_findings(state: Swarm) -> dict[tuple[str, SeatId], float]:
    """Return how much of each explorer's readings of a direction counts after the reviews of what it found there (S-13).

    Support 0.8, extension 1.2 and synthesis 1.0 stand behind a reading, a challenge of 1.5 against it; what the validator refuted
    does not count at all.
    """
    reviewed: dict[tuple[str, SeatId], list[Finding]] = {}
    for finding in state.board.findings:
        if finding.reviews or finding.verdict is not None:
            reviewed.setdefault((direction_key(finding.direction), finding.seat), []).append(finding)
    standings = {}
    for key, findings in reviewed.items():
        reviews = [review for finding in findings for review in finding.reviews]
        against = sum(review.weight for review in reviews if review.action == "challenge")
        behind = 1.0 + sum(review.weight for review in reviews if review.action != "challenge")
        unrefuted = sum(finding.verdict != "refuted" for finding in findings) / len(findings)
        standings[key] = unrefuted * behind / (behind + against)
    return standings


def _list_held_directions(state: Swarm) -> dict[SeatId, set[str]]:
    """Return for each explorer the directions in which it found, for the first time, the ideas that it still holds."""
    held: dict[SeatId, set[str]] = {seat: set() for seat in state.agents}
    met: set[tuple[SeatId, int]] = set()
    for finding in state.board.findings:
        if (finding.seat, finding.idea) not in met:
            met.add((finding.seat, finding.idea))
            if finding.idea in state.agents[finding.seat].holds:
                held[finding.seat].add(direction_key(finding.direction))
    return held


def _find_stating_idea(state: Swarm, key: str) -> int:
    """Return the idea that most explorers found in this direction first, the best backed one of several; 0 if there is none."""
    finders: dict[int, int] = {}
    met: set[tuple[SeatId, int]] = set()
    for finding in state.board.findings:
        if finding.verdict == "refuted" or (finding.seat, finding.idea) in met:
            continue
        met.add((finding.seat, finding.idea))
        if finding.idea and direction_key(finding.direction) == key:
            finders[finding.idea] = finders.get(finding.idea, 0) + 1
    backers: dict[int, int] = {}
    for agent in state.agents.values():
        for number in agent.holds:
            backers[number] = backers.get(number, 0) + 1

    def rank(number: int) -> tuple[bool, int, int, int]:
        held = backers.get(number, 0)
        return held > 0, finders[number], held, -number

    return max(finders, key=rank, default=0)


def is_clear(state: Swarm, choice: EvidenceChoice | None) -> bool:
    """Whether the leader is so clear that the run may end: by the setting, and only once every direction has been read."""
    settings = state.settings
    if not settings.clear_at or choice is None or choice.z is None or state.round < settings.min_rounds:
        return False
    read = [sum(count for count, _ in state.board.readings.get(key, {}).values()) for key in state.board.pheromones]
    return min(read) >= CLEAR_READINGS and choice.z >= settings.clear_at
