"""The figures with some joins undone: what would have been measured had two ideas stayed apart.

The recorded rounds are played again by the rules themselves; only the texts of the undone joins are placed elsewhere.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from moothall.domain.replace import fast_replace
from moothall.errors import BadSetting
from moothall.protocols.swarm.facts import ConvergenceMeasured, PlacedIdea
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.rules.convergence import compute_figures
from moothall.protocols.swarm.rules.ideas import with_ideas
from moothall.protocols.swarm.state import Board, RoundReview
from moothall.scoring.likeness import normalize_idea


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """What a run came to, with some joins undone."""

    undone: tuple[str, ...] = ()
    """The ids of the undone joins."""
    rounds: tuple[ConvergenceMeasured, ...]
    """The figures of every measured round, without the protection that followed."""
    board: Board
    """The findings and the ideas after the last of them."""


def compute_what_if(timeline: SwarmTimeline, apart: Collection[str] = ()) -> WhatIfResult:
    """Return the figures with the joins `apart` undone. Raises BadSetting when there is no such join."""
    known = {join.id: join.placed.text for join in timeline.joins}
    for name in apart:
        if name not in known:
            raise BadSetting(f"there is no join {name!r}; known: {', '.join(known) or 'none'}")
    if not apart:
        return WhatIfResult(rounds=tuple(timeline.measures), board=timeline.state.board)
    texts = dict.fromkeys(normalize_idea(text) for name, text in known.items() if name in apart)
    # After all ideas of the run, whose numbers votes and agents refer to.
    numbers = {text: number for number, text in enumerate(texts, len(timeline.state.board.ideas) + 1)}
    return replace(replay_rounds(timeline, numbers), undone=tuple(sorted(set(apart))))


def replay_rounds(timeline: SwarmTimeline, apart: Mapping[str, int]) -> WhatIfResult:
    """Play the measured rounds again with these normalized texts in ideas of their own, given by their numbers."""
    swarm = timeline.state
    agents = {seat: fast_replace(agent, holds=()) for seat, agent in swarm.agents.items()}
    state = fast_replace(swarm, agents=agents, board=Board(), review=RoundReview(), history=(), leading=())
    rounds = []
    for settled, refuted, measured in zip(timeline.settlements, timeline.refuted, timeline.measures, strict=False):
        new = (replace(each, idea=0, also=()) for each in swarm.board.findings if each.round == settled.round)
        board = fast_replace(state.board, findings=(*state.board.findings, *new), refuted=refuted)
        placed = [each for number, each in timeline.placed if number == settled.round]
        state = fast_replace(state, round=settled.round, board=board)
        state = with_ideas(state, list(_place_apart(placed, apart, board)))
        active = [each.seat for each in settled.opinions]
        held = frozenset(number for seat in active for number in state.agents[seat].holds)
        state = fast_replace(state, history=(*state.history, held))
        voices = [seat for seat in active if seat not in measured.silent]
        figures = compute_figures(state, voices, measured.perspectives, measured.concentrations)
        rounds.append(replace(figures, active=measured.active, silent=measured.silent))
        state = fast_replace(state, leading=(*state.leading, frozenset(figures.quorum_ideas)))
    return WhatIfResult(rounds=tuple(rounds), board=state.board)


def _place_apart(placed: Collection[PlacedIdea], apart: Mapping[str, int], board: Board) -> Iterator[PlacedIdea]:
    """Yield the recorded assignments; a text that stands apart founds an idea of its own and stays there."""
    for each in placed:
        key = normalize_idea(each.text)
        # An idea that such a text founded is still there for the texts that joined it.
        if key not in apart or each.reason == "new":
            yield each
        if key in apart:
            yield replace(each, idea=apart[key], reason="judge" if key in board.by_text else "new")
