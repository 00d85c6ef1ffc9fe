"""Put a file of questions before single models, a blind vote of them, and protocols; each answer is recorded and asked for once.

One blind session of all models gives what each says alone and what their vote is. Every other way is a session of its own. The id
of a session follows from its question and its way: a run that was stopped goes on, and what is recorded is not asked again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from moothall.app.bench_questions import BenchQuestion
from moothall.app.moot import Moot
from moothall.app.session_options import Options
from moothall.domain.budget import Usage
from moothall.domain.facts import AsksSent, Entry, Reply, SeatLost
from moothall.domain.ids import SeatId, SessionId, parse_session_id
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Topic, normalize_label
from moothall.errors import MootError, UnknownSession
from moothall.protocols.council.facts import Contribution
from moothall.reports.decision import Decision
from moothall.scoring.posterior import weigh_blind_answers
from moothall.scoring.trials import Trial

VOTE: Final = "vote"
"""The blind vote of the models."""
FIRST_ASK: Final = "1.propose."
_MARKS: Final = {True: "✓", False: "✗", None: "…"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """Which ways of deciding are compared."""

    models: tuple[str, ...]
    votes: int
    """How many seats vote blind; the models take them in turn."""
    protocols: tuple[str, ...] = ()
    """`PROTOCOL`, seated with the models, or `PROTOCOL:PANEL`."""
    money: float | None = None
    """Nothing more is begun when the answers have cost this much, in US dollars."""
    at_once: int = 4

    @property
    def seats(self) -> dict[str, str]:
        return {f"m{number + 1}": self.models[number % len(self.models)] for number in range(self.votes)}

    def list_ways(self) -> tuple[str, ...]:
        return (*self.models, VOTE, *self.protocols)


@dataclass(slots=True)
class BenchResult:
    """What every way did on every question that was put to it, by the key of the question."""

    ways: dict[str, dict[str, Trial]]
    unasked: Counter[str] = field(default_factory=Counter)
    """How many questions were not put, or are not answered yet, by why."""
    spent: int = 0
    """What all sessions have cost, in millionths of a US dollar."""


@dataclass(slots=True, kw_only=True)
class BenchProgress:
    """Says of every session how it ended: right, wrong, or `…` where that is not known yet."""

    line: str = ""
    say: Callable[[str], object] = str
    is_judged: bool = False
    """Whether a judge will read the free answers that the exact rule does not know."""
    expected: int = 0
    done: int = 0

    def add(self, way: str, said: str, *, is_right: bool | None) -> None:
        self.done += 1
        if said:
            state = f"{_MARKS[is_right]} {one_line(said)[:60]}"
            self.say(self.line.format(done=self.done, all=self.expected, way=way, state=state))


class BenchRun:
    """Runs a plan over questions on a ledger of its own."""

    def __init__(self, moot: Moot, plan: BenchPlan, progress: BenchProgress | None = None) -> None:
        self._moot = moot
        self._plan = plan
        self._progress = progress or BenchProgress()
        self._result = BenchResult({way: {} for way in plan.list_ways()})

    async def run(self, questions: Sequence[BenchQuestion]) -> BenchResult:
        """Ask what was not asked before, and return all that is recorded. Raises MootError when a seat cannot be asked."""
        work = [(way, question) for question in questions for way in (VOTE, *self._plan.protocols)]
        self._progress.expected += len(work)
        # The first one checks the seats: a wrong key is said once, before anything is recorded.
        await run_jobs(1, [self._decide(way, question, check=True) for way, question in work[:1]])
        await run_jobs(self._plan.at_once, [self._decide(way, question, check=False) for way, question in work[1:]])
        return self._result

    async def _decide(self, way: str, question: BenchQuestion, *, check: bool) -> None:
        session = _name_session(self._plan, way, question)
        options = build_bench_options(self._plan, way, question)
        options["check"], options["session"] = check, session
        decision, status = await decide_once(self._moot, self._plan, self._result, question.question, options)
        if decision is None:
            self._progress.add(way, status, is_right=None)
            return
        await self._record(way, question, session, decision)
        trial = self._result.ways[way][question.key]
        is_open = self._progress.is_judged and question.is_free and bool(trial.said)
        self._progress.add(way, trial.said or status, is_right=trial.right or (None if is_open else False))

    async def _record(self, way: str, question: BenchQuestion, session: SessionId, decision: Decision) -> None:
        ways = self._result.ways
        if way != VOTE:
            ways[way][question.key] = _build_trial(question, decision.short_choice, decision.confidence, decision)
            return
        state = (await self._moot.engine.load_snapshot(session)).session_state
        answers = list_blind_answers(await self._moot.engine.entries(session))
        for seat in reversed(state.seats):
            # The first seat of a model stands for the model alone.
            if seat.id in answers:
                ways[self._plan.seats[seat.id]][question.key] = answers[seat.id].judge(question)
        ways[VOTE][question.key] = _count_votes(question, answers, state.seats, state.opened.subject)


async def run_jobs(at_once: int, jobs: Sequence[Coroutine[None, None, None]]) -> None:
    """Run jobs, so many at a time. Raises the first MootError: the others are of the same kind, and nothing answered is lost."""
    free = asyncio.Semaphore(at_once)

    async def run_when_free(job: Coroutine[None, None, None]) -> None:
        async with free:
            await job

    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(run_when_free(job))
    except BaseExceptionGroup as errors:
        if (expected := errors.subgroup(MootError)) is None:
            raise
        raise _find_first(expected) from None


async def decide_once(
    moot: Moot, plan: BenchPlan, result: BenchResult, topic: str, options: Options
) -> tuple[Decision | None, str]:
    """Return the decision of a session, which is opened if it is not recorded, and its status; None, counted, where it has not
    ended, and no status where it was not begun."""
    session = parse_session_id(options["session"] or "")
    is_recorded = await _exists(moot, session)
    if not is_recorded and plan.money is not None and result.spent >= plan.money * 1e6:
        result.unasked["money"] += 1
        return None, ""
    if not is_recorded:
        await moot.open(topic, **options)
    decision = await moot.run(session)
    result.spent += decision.spent.cost
    if decision.status in {"thinking", "parked"}:
        result.unasked[decision.status] += 1
        return None, decision.status
    return decision, decision.status


def build_bench_options(plan: BenchPlan, way: str, question: BenchQuestion) -> Options:
    options: Options = {"memory": False, "check": False, "options": question.options, "category": question.category or None}
    protocol, _, panel = (way if way != VOTE else "debate").partition(":")
    options["protocol"] = protocol
    if panel:
        options["panel"] = panel
        options["models"] = plan.models
    else:
        options["seats"] = plan.seats
    if way == VOTE:
        options["settings"] = {"debate": "never"}
    return options


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlindAnswer:
    """What a seat answered before it read anyone."""

    choice: str
    confidence: float | None
    usage: Usage
    seconds: float

    def judge(self, question: BenchQuestion) -> Trial:
        return Trial(
            said=self.choice,
            right=question.is_right(self.choice),
            confidence=self.confidence,
            calls=self.usage.calls,
            tokens=self.usage.tokens_in + self.usage.tokens_out,
            cost=self.usage.cost if self.usage.calls else 0,
            seconds=self.seconds,
        )


def list_blind_answers(entries: Iterable[Entry]) -> dict[SeatId, _BlindAnswer]:
    """Return what each seat answered before it read anyone."""
    answers: dict[SeatId, _BlindAnswer] = {}
    sent_at = None
    for entry in entries:
        match entry.fact:
            case AsksSent() if sent_at is None:
                sent_at = entry.at
            case Reply(ask=ask, seat=seat, said=said, usage=usage) if ask.startswith(FIRST_ASK):
                choice, sure = (said.choice, said.confidence) if isinstance(said, Contribution) else ("", None)
                seconds = (entry.at - sent_at).total_seconds() if sent_at is not None else 0.0
                answers[seat] = _BlindAnswer(choice=choice, confidence=sure, usage=usage, seconds=seconds)
            case SeatLost(ask=ask, seat=seat, usage=usage) if ask.startswith(FIRST_ASK):
                answers[seat] = _BlindAnswer(choice="", confidence=None, usage=usage, seconds=0.0)
            case _:
                pass
    return answers


def _count_votes(question: BenchQuestion, answers: Mapping[SeatId, _BlindAnswer], seats: Sequence[Seat], subject: Topic) -> Trial:
    """The choice of most, else the likeliest, and how likely the blind answers make it; no answer where two are equal."""
    given = {seat: (each.choice, each.confidence) for seat, each in answers.items() if each.choice}
    evidence = weigh_blind_answers(seats, given, subject) if given else None
    winner = None if evidence is None else evidence.majority or evidence.leader
    together = _BlindAnswer(
        choice=next((choice for choice, _ in given.values() if winner and normalize_label(choice) == winner), ""),
        confidence=None if evidence is None or winner is None else evidence.find_confidence(winner),
        usage=sum((each.usage for each in answers.values()), Usage()),
        seconds=max((each.seconds for each in answers.values()), default=0.0),
    )
    return together.judge(question)


def _build_trial(question: BenchQuestion, said: str, confidence: float | None, decision: Decision) -> Trial:
    spent = decision.spent
    return Trial(
        said=said,
        right=question.is_right(said),
        confidence=confidence,
        calls=spent.calls,
        tokens=spent.tokens,
        cost=None if spent.unpriced else spent.cost,
        seconds=spent.seconds,
    )


def _name_session(plan: BenchPlan, way: str, question: BenchQuestion) -> SessionId:
    """The id of a session: the same for the same question, way and models."""
    described = "\n".join((way, *(f"{seat}={model}" for seat, model in plan.seats.items())))
    return parse_session_id(f"bench-{question.key}-{sha256(described.encode()).hexdigest()[:12]}")


def _find_first(errors: BaseException) -> BaseException:
    return _find_first(errors.exceptions[0]) if isinstance(errors, BaseExceptionGroup) else errors


async def _exists(moot: Moot, session: SessionId) -> bool:
    try:
        await moot.engine.load_snapshot(session)
    except UnknownSession:
        return False
    return True


async def count_recorded(moot: Moot, plan: BenchPlan, questions: Sequence[BenchQuestion]) -> int:
    """Return how many of the sessions of a plan are in the ledger already."""
    known = {head.session for head in await moot.engine.heads()}
    return sum(_name_session(plan, way, each) in known for each in questions for way in (VOTE, *plan.protocols))
