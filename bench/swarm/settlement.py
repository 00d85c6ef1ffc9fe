"""Swarms whose explorers speak, settled by what they read, beside a plain vote of as many readings (S-30 … S-32)."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median
from typing import Any, Final

from pydantic import TypeAdapter
from tests.support.play_swarm import build_swarm_plan

from bench.swarm.driver import Drive
from bench.swarm.report import table
from bench.swarm.speaker import (
    NAMES_BY_NUMBER,
    SILENT_ROUNDS,
    ErringJudge,
    Kind,
    Speaker,
    find_verdict,
)
from bench.swarm.speech import build_meanings
from bench.swarm.world import World, plurality_of
from moothall.domain.effects import Brief, CompareTexts
from moothall.domain.facts import Language
from moothall.domain.roster import Seat
from moothall.protocols.swarm.facts import VALIDATOR, ConvergenceMeasured, SwarmCompleted
from moothall.protocols.swarm.rules.review import compare_by_words
from moothall.reading.schemas import build_user_prompt
from moothall_testkit.prompt_size import count_tokens

AGENTS: Final = 8
BLOCK: Final = 20
"""Runs in one block: of shares, the median and the range are those of blocks of so many seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechCase:
    """One cell. `errs` is how often the judge of ideas is wrong, None where there is no judge; `crew` are the explorers."""

    k: int = 5
    gap: float = 0.2
    noise: float = 0.2
    taste: float = 0.1
    rounds: int = 10
    errs: float | None = 0.05
    crew: tuple[Kind, ...] = ("careful",) * AGENTS
    names: float = NAMES_BY_NUMBER
    rates: bool = True
    counts_tokens: bool = False
    settings: tuple[tuple[str, Any], ...] = ()

    def but(self, **settings: Any) -> "SpeechCase":
        return replace(self, settings=tuple({**dict(self.settings), **settings}.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenOutcome:
    """One run: whether its choice, its most held idea and a plain vote are right, and what it and the vote cost.

    `joined` of `same` pairs of texts with one meaning stand with one idea; so do `wrong` of `opposed` pairs of opposite ones.
    """

    right: bool
    decided: bool
    """Whether the readings tell its choice from the second: without that the run decides nothing by them."""
    sureness: float | None
    held: bool
    vote: bool
    converged: bool
    rounds: int
    same: int
    joined: int
    opposed: int
    wrong: int
    mixed: int
    judged: int
    calls: int
    vote_calls: int
    tokens: int
    vote_tokens: int


def get_language(seed: int) -> Language:
    """Half of the runs are in each language."""
    return "zh" if seed % 2 else "en"


def play_spoken(case: SpeechCase, seed: int) -> SpokenOutcome:
    """Play one run to its end and judge it by the truth."""
    language = get_language(seed)
    world = World(seed=seed, k=case.k, gap=case.gap, noise=case.noise, taste=case.taste)
    plan = build_swarm_plan(
        len(case.crew),
        seed=seed,
        language=language,
        **{"max_rounds": case.rounds, "pool_twins": True, **dict(case.settings)},
    )
    kinds = dict(zip((str(seat.id) for seat in plan.seats), case.crew, strict=True))
    speakers = {
        name: Speaker(world, name, language, kind=kind, rates=case.rates, names=case.names)
        for name, kind in kinds.items()
    }
    judge = ErringJudge(seed, language, case.errs or 0.0)
    if case.errs is not None:
        plan = replace(plan, seats=(*plan.seats, Seat(id=VALIDATOR, platform="script:judge")))
    spent = Spending(case.counts_tokens)

    def says(brief: Brief) -> object:
        if isinstance(brief.chore, CompareTexts):
            return compare_by_words(brief.chore)
        said = (
            judge.says(brief) if brief.ask.kind == "judge" else speakers[brief.ask.seat].says(brief)
        )
        spent.add(brief, said)
        return said

    run = Drive(plan, says)
    for _ in run.steps():
        pass
    done = next(fact for fact in run.facts if isinstance(fact, SwarmCompleted))
    last = next(fact for fact in reversed(run.facts) if isinstance(fact, ConvergenceMeasured))
    meanings = build_meanings(language)
    backed = max(last.backing, key=lambda each: (len(each.backers), -each.idea))
    most_held = meanings[run.state.board.ideas[backed.idea].text]
    choice = meanings[done.choice.answer] if done.choice is not None else most_held
    looks = {
        name: done.round if kind != "silent" else -(-done.round // SILENT_ROUNDS)
        for name, kind in kinds.items()
    }
    liars = [name for name, kind in kinds.items() if kind == "liar"]
    return SpokenOutcome(
        right=choice.direction == world.best and choice.side == "for",
        decided=done.choice is not None and done.choice.is_distinct,
        sureness=done.choice.sureness if done.choice is not None else None,
        held=most_held.direction == world.best and most_held.side == "for",
        vote=plurality_of(world, looks, liars) == world.best,
        converged=done.converged,
        rounds=done.round,
        **count_joins(run, language),
        judged=judge.pairs,
        calls=spent.calls,
        vote_calls=sum(looks.values()),
        tokens=spent.tokens,
        vote_tokens=spent.first_look * sum(looks.values()),
    )


def count_joins(run: Drive, language: Language) -> dict[str, int]:
    """Count the pairs of different texts that mean the same, and those that mean the opposite, and how many are joined."""
    meanings = build_meanings(language)
    counts = {"same": 0, "joined": 0, "opposed": 0, "wrong": 0, "mixed": 0}
    placed = {finding.core_idea: finding.idea for finding in run.state.board.findings}
    for one, other in combinations(placed, 2):
        verdict = find_verdict(meanings[one], meanings[other])
        is_joined = placed[one] == placed[other]
        if verdict == "different":
            counts["mixed"] += is_joined
            continue
        counts["same" if verdict == "same" else "opposed"] += 1
        counts["joined" if verdict == "same" else "wrong"] += is_joined
    return counts


_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


class Spending:
    """The calls of a run, and where it is wanted their tokens, counted roughly. `first_look` is one look without a blackboard."""

    def __init__(self, counts_tokens: bool) -> None:
        self._counts = counts_tokens
        self.calls = 0
        self.tokens = 0
        self.first_look = 0

    def add(self, brief: Brief, said: object) -> None:
        self.calls += 1
        if not self._counts:
            return
        # Building an adapter takes longer than a round.
        shape = type(said)
        adapter = _ADAPTERS[shape] = _ADAPTERS.get(shape) or TypeAdapter(shape)
        answer = adapter.dump_json(said, exclude_defaults=True).decode()
        used = count_tokens(f"{brief.system}\n{build_user_prompt(brief)}") + count_tokens(answer)
        self.tokens += used
        self.first_look = self.first_look or used


CELLS: Final[dict[str, SpeechCase]] = {
    f"{k} directions, {rounds} rounds": SpeechCase(k=k, rounds=rounds, counts_tokens=True)
    for rounds in (10, 30)
    for k in (2, 5, 10)
}
BASE: Final = SpeechCase()
OTHERS: Final[dict[str, SpeechCase]] = {
    "quorum, the source's rule": BASE.but(settle="quorum"),
    "stability leading": BASE.but(stability="leading"),
    "may stop at z 1.5": BASE.but(clear_at=1.5),
    "constant deposits and ratings": replace(BASE, crew=("constant",) * AGENTS),
    "the same, 10 directions": replace(BASE, crew=("constant",) * AGENTS, k=10),
    "no judge": replace(BASE, errs=None),
    "a judge that never errs": replace(BASE, errs=0.0),
}


CREWS: Final[dict[str, tuple[Kind, ...]]] = {
    "honest": ("careful",) * 7,
    "mixed": (*("careful",) * 4, "careless", "constant", "silent"),
    "one liar": (*("careful",) * 6, "liar"),
    "two liars": (*("careful",) * 5, "liar", "liar"),
}
UNKIND: Final[dict[str, SpeechCase]] = {
    f"{k} directions, {rounds} rounds, {name}": SpeechCase(
        k=k, rounds=rounds, noise=0.25, crew=crew
    )
    for rounds in (5, 15)
    for k in (3, 5, 8)
    for name, crew in CREWS.items()
}
"""Explorers that are careless, silent, constant, or lie (S-34)."""


def describe_share(
    outcomes: Sequence[SpokenOutcome], holds: Callable[[SpokenOutcome], bool]
) -> str:
    """A share of all runs, then the lowest and the highest block of seeds."""
    blocks = [outcomes[at : at + BLOCK] for at in range(0, len(outcomes), BLOCK)]
    shares = [100 * sum(map(holds, block)) / len(block) for block in blocks]
    whole = 100 * sum(map(holds, outcomes)) / len(outcomes)
    return f"{whole:.1f} ({median(shares):.0f}; {min(shares):.0f}–{max(shares):.0f})"


def describe_figure(values: Iterable[float], digits: int = 0) -> str:
    """The median, the lowest and the highest."""
    listed = sorted(values)
    return (
        f"{median(listed):,.{digits}f} ({listed[0]:,.{digits}f}–{listed[-1]:,.{digits}f})"
        if listed
        else "–"
    )


def render_choices(title: str, played: dict[str, list[SpokenOutcome]]) -> str:
    """How often the choice, the most held idea and a plain vote are right."""
    head = (
        title,
        "evidence right %",
        "decided %",
        "right and decided %",
        "vote right %",
        "most held %",
        "gain",
        "converged %",
        "rounds",
    )
    rows = []
    for name, found in played.items():
        pairs = [each.right - each.vote for each in found]
        mean = math.fsum(pairs) / len(pairs)
        error = math.sqrt(math.fsum((each - mean) ** 2 for each in pairs)) / len(pairs)
        rows.append(
            (
                name,
                describe_share(found, lambda each: each.right),
                describe_share(found, lambda each: each.decided),
                describe_share(found, lambda each: each.right and each.decided),
                describe_share(found, lambda each: each.vote),
                describe_share(found, lambda each: each.held),
                f"{100 * mean:+.1f} ± {100 * error:.1f}",
                describe_share(found, lambda each: each.converged),
                describe_figure(each.rounds for each in found),
            )
        )
    return table(head, rows)


def render_joins(title: str, played: dict[str, list[SpokenOutcome]]) -> str:
    """How many pairs of texts stand with one idea that should, and that should not."""
    head = (
        title,
        "same joined %",
        "opposites joined",
        "of",
        "other ideas joined",
        "pairs judged",
        "converged %",
    )
    rows = []
    for name, found in played.items():
        shares = [100 * each.joined / each.same for each in found if each.same]
        rows.append(
            (
                name,
                describe_figure(shares),
                str(sum(each.wrong for each in found)),
                f"{sum(each.opposed for each in found):,}",
                f"{sum(each.mixed for each in found):,}",
                describe_figure(each.judged for each in found),
                describe_share(found, lambda each: each.converged),
            )
        )
    return table(head, rows)


def render_costs(title: str, played: dict[str, list[SpokenOutcome]]) -> str:
    """Calls and tokens of a run, and for each right answer, beside the vote's."""
    head = (
        title,
        "calls",
        "vote's",
        "per right answer",
        "vote's",
        "tokens",
        "vote's",
        "per right answer",
        "vote's",
    )
    rows = []
    for name, found in played.items():
        right, voted = (
            max(1, sum(each.right for each in found)),
            max(1, sum(each.vote for each in found)),
        )
        cells = [name]
        for own, other in (("calls", "vote_calls"), ("tokens", "vote_tokens")):
            spent = [getattr(each, own) for each in found]
            vote = [getattr(each, other) for each in found]
            cells += [
                describe_figure(spent),
                describe_figure(vote),
                f"{sum(spent) / right:,.0f}",
                f"{sum(vote) / voted:,.0f}",
            ]
        rows.append(tuple(cells))
    return table(head, rows)


def render_sureness(title: str, played: dict[str, list[SpokenOutcome]]) -> str:
    """How sure all runs say they are, in steps of ten points, and how often they are right (S-35)."""
    bins: dict[int, list[SpokenOutcome]] = {}
    for outcome in (each for outcomes in played.values() for each in outcomes):
        if outcome.sureness is not None:
            bins.setdefault(min(9, int(10 * outcome.sureness)), []).append(outcome)
    rows = []
    for at, outcomes in sorted(bins.items()):
        said = math.fsum(each.sureness or 0.0 for each in outcomes) / len(outcomes)
        right = sum(each.right for each in outcomes) / len(outcomes)
        error = math.sqrt(right * (1 - right) / len(outcomes))
        rows.append(
            (
                f"{10 * at}–{10 * at + 10}",
                str(len(outcomes)),
                f"{100 * said:.0f}",
                f"{100 * right:.0f} ± {100 * error:.0f}",
            )
        )
    return table((title, "runs", "said %", "right %"), rows)


def play_cells(
    cells: dict[str, SpeechCase], runs: int, first: int = 1
) -> dict[str, list[SpokenOutcome]]:
    return {
        name: [play_spoken(case, seed) for seed in range(first, first + runs)]
        for name, case in cells.items()
    }


def print_unkind(runs: int, first: int, rounds: int) -> None:
    """Crews with careless, silent, constant and lying explorers, in runs of so many rounds."""
    cells = {name: case for name, case in UNKIND.items() if case.rounds == rounds}
    unkind = play_cells(cells, runs, first)
    print(render_choices("unkind crews of seven", unkind), end="\n\n", flush=True)
    print(render_joins("joins", unkind), end="\n\n", flush=True)
    print(render_sureness("how sure", unkind), end="\n\n", flush=True)


def print_settlement(runs: int) -> None:
    """Everything about explorers that speak."""
    print(
        f"{runs} seeds a row; shares in percent (median; lowest–highest of {BLOCK} seeds), figures median (lowest–highest)\n",
        flush=True,
    )
    equal = play_cells(CELLS, runs)
    print(render_choices("at equal readings", equal), end="\n\n", flush=True)
    print(render_costs("what it costs", equal), end="\n\n", flush=True)
    print(render_joins("joins", equal), end="\n\n", flush=True)
    for rounds in (5, 15):
        print_unkind(runs, 1, rounds)
    others = play_cells(OTHERS, runs)
    print(render_choices("5 directions, 10 rounds", others), end="\n\n", flush=True)
    print(render_joins("joins", others), end="\n\n", flush=True)
