"""Collisions: idle agents review the findings of others (S-13, source 14.3).

An agent is idle if it has delivered its report and holds no subtask.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.replace import copy_fields, fast_replace
from moothall.domain.seeded_random import random_unit
from moothall.protocols.swarm.answers import Action, Collision, Validation
from moothall.protocols.swarm.facts import CollisionMode
from moothall.protocols.swarm.rules.evidence import direction_key
from moothall.protocols.swarm.state import Agent, CollisionReview, Finding, Invitation, Swarm

# Weights of the source: a challenge counts most, because it is what a group of agreeing agents lacks.
WEIGHTS: Final[dict[Action, float]] = {"challenge": 1.5, "support": 0.8, "extend": 1.2, "synthesize": 1.0, "pass": 0.0}
MIN_FINDINGS: Final = 2
DEEPEN_ABOVE: Final = 0.6
DEBATE_ABOVE: Final = 2
MAX_ON_ONE: Final = 2
SHOWN: Final = 3
LOOKED_AT: Final = 60
"""The newest findings; the targets of collisions are chosen among them."""
MAX_CHECKED: Final = 10


def choose_mode(state: Swarm, agent: Agent) -> CollisionMode:
    if agent.role == "SYNTHESIZER":
        return "early_synthesis"
    if state.board.strongest > DEEPEN_ABOVE:
        return "collaborate_deepen"
    return "debate" if len(state.board.perspectives) > DEBATE_ABOVE else "review_challenge"


def build_invitations(state: Swarm) -> tuple[Invitation, ...]:
    """Choose who collides with what in this round; agents in random order, at most `MAX_ON_ONE` per direction."""
    most = state.settings.collisions
    if not most or len(state.board.findings) < MIN_FINDINGS or state.stop:
        return ()
    idle = [seat for seat in state.active if seat in state.answered and not state.agents[seat].subtask]
    # Seeded order: otherwise the first seats of the roster would always get the few collisions of a round.
    idle.sort(key=lambda seat: (random_unit(state.opened.seed, "collide", state.round, seat), seat))
    crowd: dict[str, int] = {}
    invitations: list[Invitation] = []
    for seat in idle:
        if len(invitations) == most:
            break
        agent = state.agents[seat]
        mode = choose_mode(state, agent)
        targets = _select_targets(state, agent, mode, crowd)
        if targets:
            # Only the first target counts, because it is the one that the agent is asked to answer.
            crowd[_find_direction_key(targets[0])] = crowd.get(_find_direction_key(targets[0]), 0) + 1
            invitations.append(Invitation(seat=seat, mode=mode, targets=tuple(each.number for each in targets)))
    return tuple(invitations)


def _find_direction_key(finding: Finding) -> str:
    return direction_key(finding.direction) or finding.id


def _select_targets(state: Swarm, agent: Agent, mode: CollisionMode, crowd: Mapping[str, int]) -> list[Finding]:
    """Return the findings that suit the mode; the first one is to be answered."""
    strength = {key: each.concentration for key, each in state.board.pheromones.items()}
    own = {finding.perspective for finding in state.board.findings[-LOOKED_AT:] if finding.seat == agent.seat}
    others = [
        finding
        for finding in state.board.findings[-LOOKED_AT:]
        if finding.seat != agent.seat and crowd.get(_find_direction_key(finding), 0) < MAX_ON_ONE
    ]

    # Lower ranks come first: the mode's own criterion, then findings with few reviews, then the newest.
    def rank(finding: Finding) -> tuple[float, float, int]:
        fits = {
            "collaborate_deepen": -strength.get(direction_key(finding.direction), 0.0),
            # A debate needs findings from a perspective that the agent has not taken itself: False sorts before True.
            "debate": float(finding.perspective in own),
            "review_challenge": float(len(finding.reviews)),
            "early_synthesis": 0.0,
        }[mode]
        return fits, float(len(finding.reviews)), -finding.number

    return sorted(others, key=rank)[:SHOWN]


def list_findings_to_check(state: Swarm) -> tuple[int, ...]:
    """Return the findings that the validator is asked about."""
    if state.stop:
        return ()
    unchecked = (each.number for each in state.board.findings if each.needs_validation and each.verdict is None)
    return tuple(unchecked)[:MAX_CHECKED]


def apply_reviews(state: Swarm) -> Swarm:
    """Return the swarm with the collisions and the validator's verdicts written to the findings."""
    reviews: dict[int, list[CollisionReview]] = {}
    for invitation in state.review.invitations:
        said = state.review.collisions.get(invitation.seat)
        if said is not None and said.action != "pass":
            review = copy_fields(
                CollisionReview,
                said,
                invitation,
                weight=WEIGHTS[said.action],
                new_insights=tuple(text for text in said.new_insights if text.strip()),
            )
            reviews.setdefault(_find_target(state, invitation, said), []).append(review)
    verdicts = _collect_verdicts(state, state.review.validation)
    if not reviews and not verdicts:
        return state
    findings = tuple(
        each
        if each.number not in reviews and each.number not in verdicts
        else replace(verdicts.get(each.number, each), reviews=(*each.reviews, *reviews.get(each.number, ())))
        for each in state.board.findings
    )
    judged = {each.key: each.verdict for each in verdicts.values()}
    refuted = (state.board.refuted - judged.keys()) | {text for text, verdict in judged.items() if verdict == "refuted"}
    return fast_replace(state, board=fast_replace(state.board, findings=findings, refuted=frozenset(refuted)))


def _find_target(state: Swarm, invitation: Invitation, said: Collision) -> int:
    """Return the finding that an answer is about: the one it names if that was shown to it, else the first target."""
    named = state.board.finding(said.target_finding_id)
    return named.number if named is not None and named.number in invitation.targets else invitation.targets[0]


def _collect_verdicts(state: Swarm, said: Validation | None) -> dict[int, Finding]:
    verdicts: dict[int, Finding] = {}
    for each in said.verdicts if said is not None else ():
        finding = state.board.finding(each.finding)
        if finding is not None and finding.number in state.review.to_check:
            verdicts[finding.number] = replace(finding, verdict=each.verdict, checked=each.reason)
    return verdicts


def find_invitation(state: Swarm, seat: SeatId) -> Invitation | None:
    """Return the invitation of an agent in the current round."""
    return next((each for each in state.review.invitations if each.seat == seat), None)
