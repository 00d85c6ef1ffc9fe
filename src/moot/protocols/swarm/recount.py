"""The figures reckoned anew from the record with some joins undone: what would have been measured had two ideas stayed apart."""

from collections.abc import Collection
from dataclasses import dataclass

from moot.domain.ids import SeatId
from moot.errors import BadSetting
from moot.protocols.swarm.measuring import bounds
from moot.protocols.swarm.story import SwarmStory
from moot.weighing.convergence import Verdict, judged, quorum_ideas, share
from moot.weighing.likeness import normal_idea
from moot.weighing.stigmergy import Diversity, diversity


@dataclass(frozen=True, slots=True, kw_only=True)
class Backed:
    """An idea with its backers at the end of a round; `independent` held it before they could read it."""

    number: int
    text: str
    backers: tuple[SeatId, ...]
    independent: tuple[SeatId, ...]
    joined: tuple[SeatId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One round reckoned anew."""

    round: int
    ideas: frozenset[int]
    backed: tuple[Backed, ...]
    quorum: tuple[int, ...]
    active: int
    diversity: Diversity
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """All rounds, and the texts of all ideas, with these joins undone."""

    undone: tuple[str, ...]
    rounds: tuple[Counted, ...]
    texts: dict[int, str]
    owners: dict[int, tuple[SeatId, ...]]


def recounted(story: SwarmStory, apart: Collection[str] = ()) -> Recount:
    """The figures with the joins `apart` undone; raises BadSetting for a join that there is not."""
    known = {join.id: join for join in story.joins}
    for name in apart:
        if name not in known:
            raise BadSetting(f"there is no join {name!r}; known: {', '.join(known) or 'none'}")
    texts = {idea.number: idea.text for idea in story.swarm.board.ideas}
    separate: dict[str, int] = {}
    for name in sorted(set(apart), key=lambda name: known[name].number):
        number = len(texts) + 1
        texts[number] = known[name].placed.text
        separate[normal_idea(known[name].placed.text)] = number
    return _counted(story, tuple(sorted(set(apart))), texts, separate)


def _counted(story: SwarmStory, undone: tuple[str, ...], texts: dict[int, str], separate: dict[str, int]) -> Recount:
    swarm = story.swarm
    limits = bounds(swarm)
    born: dict[int, int] = {}
    since: dict[tuple[int, SeatId], int] = {}
    holds: dict[SeatId, set[int]] = {}
    distinct: set[int] = set()
    stated = 0
    history: list[frozenset[int]] = []
    rounds = []
    by_round: dict[int, list[tuple[SeatId, tuple[int, ...]]]] = {}
    for finding in swarm.board.findings:
        own = separate.get(normal_idea(finding.core_idea), finding.idea)
        # What it agrees with stays where its words point: at a text that stands apart now, or at its idea.
        named = {separate[key] for name in finding.agrees_with if (key := normal_idea(name)) in separate}
        rest = {number for number in finding.also if not named}
        numbers = (own, *sorted((named | rest) - {own}))
        by_round.setdefault(finding.round, []).append((finding.seat, numbers))
    for settled, measured in zip(story.settlements, story.measures, strict=False):
        fresh: dict[SeatId, set[int]] = {}
        for seat, numbers in by_round.get(settled.round, ()):
            stated += 1
            distinct.add(numbers[0])
            fresh.setdefault(seat, set()).update(numbers)
            for number in numbers:
                born.setdefault(number, settled.round)
                since.setdefault((number, seat), settled.round)
        holds.update(fresh)
        active = [opinion.seat for opinion in settled.opinions]
        backers: dict[int, list[SeatId]] = {}
        for seat in active:
            for number in sorted(holds.get(seat, ())):
                backers.setdefault(number, []).append(seat)
        history.append(frozenset(backers))
        backed = tuple(
            Backed(
                number=number,
                text=texts.get(number, ""),
                backers=tuple(seats),
                independent=tuple(seat for seat in seats if since[number, seat] == born[number]),
                joined=tuple(seat for seat in seats if since[number, seat] != born[number]),
            )
            for number, seats in sorted(backers.items())
        )
        counts = {each.number: each.independent if swarm.settings.quorum == "independent" else each.backers for each in backed}
        spread = diversity(
            perspectives=measured.perspectives, distinct=len(distinct), stated=stated, concentrations=measured.concentrations
        )
        reached = quorum_ideas(counts, len(active), limits.quorum)
        verdict = judged(
            round_number=settled.round,
            history=history,
            has_quorum=bool(reached),
            consensus_rate=max((share(len(seats), len(active)) for seats in counts.values()), default=0.0),
            diversity=spread.overall,
            bounds=limits,
        )
        rounds.append(
            Counted(
                round=settled.round,
                ideas=history[-1],
                backed=backed,
                quorum=reached,
                active=len(active),
                diversity=spread,
                verdict=verdict,
            )
        )
    owners: dict[int, list[SeatId]] = {}
    for number, seat in since:
        owners.setdefault(number, []).append(seat)
    return Recount(
        undone=undone, rounds=tuple(rounds), texts=texts, owners={number: tuple(seats) for number, seats in owners.items()}
    )
