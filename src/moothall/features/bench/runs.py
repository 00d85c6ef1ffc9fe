"""Put a file of questions before single models, a blind vote of them, and protocols; each answer is recorded and asked for once.

One blind session of all models gives what each says alone and what their vote is. Every other way is a session of its own. The id
of a session follows from its question and its way: a run that was stopped goes on, and what is recorded is not asked again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from typing import Final

from moothall.domain.replace import dataclass
from moothall.domain.topic import Topic
from moothall.features.bench.bare import BareAsker, NotAsked
from moothall.features.bench.questions import BenchQuestion
from moothall.features.bench.trials import JudgeFigures, Trial, sum_up
from moothall.features.bench.words import BENCH
from moothall.plugins import (
    AnyPlugin,
    AsksSent,
    BadSetting,
    BlindChoice,
    Decision,
    Entry,
    Language,
    Moot,
    MootError,
    Options,
    Reply,
    Seat,
    SeatId,
    SeatLost,
    SessionId,
    normalize_label,
    one_line,
    parse_session_id,
    quote_lines,
    shorten_text,
    weigh_blind_answers,
)
from moothall.scoring.independence import detect_family

BARE: Final = " (bare)"
VOTE: Final = "vote"
"""The blind vote of the models."""
FIRST_ASK: Final = "1.propose."
NO_CHOICE: Final = BlindChoice("", None)
NOTHING_SAID: Final = "–"
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
        return {
            f"m{number + 1}": self.models[number % len(self.models)] for number in range(self.votes)
        }

    @property
    def singles(self) -> tuple[str, ...]:
        """The ways of one model alone: blind in a meeting, and asked by the question alone, as a user does it."""
        return (*self.models, *map(name_bare, self.models))

    def list_ways(self) -> tuple[str, ...]:
        return (*self.singles, VOTE, *self.protocols)


def name_bare(model: str) -> str:
    """The name of the way in which a model is asked by the question alone."""
    return f"{model}{BARE}"


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
        await run_jobs(
            self._plan.at_once,
            [self._decide(way, question, check=False) for way, question in work[1:]],
        )
        await self._ask_bare(questions)
        return self._result

    async def _ask_bare(self, questions: Sequence[BenchQuestion]) -> None:
        """Ask each model each question alone, without a meeting round it."""
        asker = BareAsker(self._moot)
        jobs = []
        for question in questions:
            for model in self._plan.models:
                jobs.append(self._ask_alone(asker, model, question))
        self._progress.expected += len(jobs)
        await run_jobs(self._plan.at_once, jobs)

    async def _ask_alone(self, asker: BareAsker, model: str, question: BenchQuestion) -> None:
        way, plan, result = name_bare(model), self._plan, self._result
        trial = await asker.find(model, question)
        if trial is None and plan.money is not None and result.spent >= plan.money * 1e6:
            result.unasked["money"] += 1
            self._progress.add(way, "", is_right=None)
            return
        if trial is None:
            asked = await asker.ask(model, question)
            if isinstance(asked, NotAsked):
                result.unasked["parked"] += 1
                self._progress.add(way, "parked", is_right=None)
                return
            trial = asked
            result.spent += trial.cost or 0
        result.ways[way][question.key] = trial
        is_open = self._progress.is_judged and question.is_free and bool(trial.said)
        is_right = trial.right or (None if is_open else False)
        self._progress.add(way, trial.said or NOTHING_SAID, is_right=is_right)

    async def _decide(self, way: str, question: BenchQuestion, *, check: bool) -> None:
        session = _name_session(self._plan, way, question)
        options = build_bench_options(self._plan, way, question)
        options["check"], options["session"] = check, session
        decision, status = await decide_once(
            self._moot, self._plan, self._result, question.question, options
        )
        if decision is None:
            self._progress.add(way, status, is_right=None)
            return
        await self._record(way, question, session, decision)
        trial = self._result.ways[way][question.key]
        is_open = self._progress.is_judged and question.is_free and bool(trial.said)
        self._progress.add(
            way, trial.said or NOTHING_SAID, is_right=trial.right or (None if is_open else False)
        )

    async def _record(
        self, way: str, question: BenchQuestion, session: SessionId, decision: Decision
    ) -> None:
        ways = self._result.ways
        if way != VOTE:
            spent = decision.spent
            cost = None if spent.unpriced else spent.cost
            ways[way][question.key] = Trial(
                said=decision.short_choice,
                right=question.is_right(decision.short_choice),
                confidence=decision.confidence,
                calls=spent.calls,
                tokens=spent.tokens,
                cost=cost,
                seconds=spent.seconds,
            )
            return
        state = (await self._moot.engine.load_snapshot(session)).session_state
        answers = list_blind_answers(
            await self._moot.load_plugin(session),
            await self._moot.engine.entries(session),
            question,
        )
        for seat in reversed(state.seats):
            # The first seat of a model stands for the model alone.
            if seat.id in answers:
                ways[self._plan.seats[seat.id]][question.key] = answers[seat.id]
        vote = count_votes(question, answers, state.seats, state.opened.subject)
        # Where the blind answers are split, its session holds a vote, which is paid for as well.
        spent = decision.spent
        ways[VOTE][question.key] = replace(
            vote,
            calls=spent.calls,
            tokens=spent.tokens,
            cost=None if spent.unpriced else spent.cost,
        )


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
    is_recorded = bool(await moot.ledger.read(session, 0, 1))
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
    options: Options = {
        "memory": False,
        "check": False,
        "options": question.options,
        "category": question.category or None,
    }
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


def list_blind_answers(
    plugin: AnyPlugin, entries: Iterable[Entry], question: BenchQuestion
) -> dict[SeatId, Trial]:
    """Return what each seat answered before it read anyone, and what that took."""
    answers: dict[SeatId, Trial] = {}
    sent_at = None
    for entry in entries:
        match entry.fact:
            case AsksSent() if sent_at is None:
                sent_at = entry.at
            case (
                Reply(ask=ask, seat=seat, usage=usage) | SeatLost(ask=ask, seat=seat, usage=usage)
            ) if ask.startswith(FIRST_ASK):
                blind = plugin.blind_choice(entry.fact) if plugin.blind_choice is not None else None
                choice, sure = blind or NO_CHOICE
                seconds = 0.0
                if sent_at is not None and isinstance(entry.fact, Reply):
                    seconds = (entry.at - sent_at).total_seconds()
                answers[seat] = Trial(
                    said=choice,
                    right=question.is_right(choice),
                    confidence=sure,
                    calls=usage.calls,
                    tokens=usage.tokens_in + usage.tokens_out,
                    cost=usage.cost if usage.calls else 0,
                    seconds=seconds,
                )
    return answers


def count_votes(
    question: BenchQuestion, answers: Mapping[SeatId, Trial], seats: Sequence[Seat], subject: Topic
) -> Trial:
    """The choice of most, else the likeliest, and how likely the blind answers make it; no answer where two are equal."""
    given = {seat: (each.said, each.confidence) for seat, each in answers.items() if each.said}
    evidence = weigh_blind_answers(seats, given, subject) if given else None
    winner, said, confidence = None, "", None
    if evidence is not None:
        winner = evidence.majority or evidence.leader
    if evidence is not None and winner is not None:
        confidence = evidence.find_confidence(winner)
    if winner:
        chosen = [choice for choice, _ in given.values() if normalize_label(choice) == winner]
        said = chosen[0] if chosen else ""
    figures = sum_up(list(answers.values()))
    return Trial(
        said=said,
        right=question.is_right(said),
        confidence=confidence,
        calls=figures.calls,
        tokens=figures.tokens,
        cost=figures.cost,
        seconds=max((each.seconds for each in answers.values()), default=0.0),
    )


def _name_session(plan: BenchPlan, way: str, question: BenchQuestion) -> SessionId:
    """The id of a session: the same for the same question, way and models."""
    described = "\n".join((way, *(f"{seat}={model}" for seat, model in plan.seats.items())))
    return parse_session_id(f"bench-{question.key}-{sha256(described.encode()).hexdigest()[:12]}")


def _find_first(errors: BaseException) -> BaseException:
    return _find_first(errors.exceptions[0]) if isinstance(errors, BaseExceptionGroup) else errors


async def count_recorded(moot: Moot, plan: BenchPlan, questions: Sequence[BenchQuestion]) -> int:
    """Return how many of the sessions of a plan are in the ledger already."""
    known = {head.session for head in await moot.ledger.heads()}
    return sum(
        _name_session(plan, way, each) in known
        for each in questions
        for way in (VOTE, *plan.protocols)
    )


SAME: Final = "same"
DIFFERENT: Final = "different"
MAX_KNOWN: Final = 20
"""How many right answers, and how many wrong ones, of those with an exact rule are judged to measure the judge."""
MAX_SHOWN: Final = 4_000
_SEATS: Final = (SeatId("judge1"), SeatId("judge2"))

_Answer = tuple[str, str]
"""The key of a question, and what was said to it."""


class BenchJudge:
    """Judges free answers (G-3): a model of another family than those that answered says whether two answers mean the same.

    Each answer is judged twice, blind: one seat looks for what both share, the other for what sets them apart. Only what both
    call the same is right. How often the judge errs is measured on answers for which an exact rule is known, and by how often its
    two seats differ. Judgements are sessions like the answers: a second run asks for none again.
    """

    def __init__(
        self, moot: Moot, plan: BenchPlan, judge: str, language: Language, progress: BenchProgress
    ) -> None:
        """Raises BadSetting for a judge of the same family as a model that is judged."""
        for model in plan.models:
            if detect_family(model, "") == detect_family(judge, "judge"):
                raise BadSetting(
                    f"--judge {judge}: of the same family as {model}; a model favours answers of its own family"
                )
        self._moot = moot
        self._plan = plan
        self._judge = judge
        self._language: Language = language
        self._progress = progress
        self._verdicts: dict[_Answer, tuple[str, ...] | None] = {}

    def plan_judgements(
        self, questions: Sequence[BenchQuestion]
    ) -> tuple[str, Options, int] | None:
        """Return a judgement, as it is opened, and how many there are at most; None where no question has a free answer."""
        free = [each for each in questions if each.is_free]
        if not free:
            return None
        # The vote says what one of its seats said: a new answer only where more seats vote than models are tried.
        answers = min(self._plan.votes, len(self._plan.models) + 1) + len(self._plan.protocols)
        answers += len(self._plan.models)
        known = min(2 * MAX_KNOWN, (len(questions) - len(free)) * answers)
        return *self._describe_judgement(free[0], free[0].answer), len(free) * answers + known

    async def judge(self, questions: Sequence[BenchQuestion], result: BenchResult) -> JudgeFigures:
        """Correct which answers of the result are right; what could not be judged is taken out of it, and counted there."""
        by_key = {each.key: each for each in questions}
        said: dict[_Answer, Trial] = {}
        for trials in result.ways.values():
            for key, trial in trials.items():
                if trial.said:
                    said[key, normalize_label(trial.said)] = trial
        free = [each for each, trial in said.items() if by_key[each[0]].is_free and not trial.right]
        ruled = sorted(each for each in said if free and not by_key[each[0]].is_free)
        right = [each for each in ruled if said[each].right]
        wrong = [each for each in ruled if not said[each].right]
        known = right[:MAX_KNOWN] + wrong[:MAX_KNOWN]
        jobs = [
            self._judge_answer(by_key[each[0]], said[each].said, result) for each in (*free, *known)
        ]
        self._progress.expected += len(jobs)
        await run_jobs(self._plan.at_once, jobs)
        for trials in result.ways.values():
            for key, trial in list(trials.items()):
                answer = key, normalize_label(trial.said)
                if answer not in free:
                    continue
                verdict = self._verdicts[answer]
                if verdict is None:
                    del trials[key]
                else:
                    trials[key] = replace(trial, right=verdict == (SAME, SAME))
        judged = self._map_verdicts(free)
        checked = self._map_verdicts(known)
        mistaken = [
            each
            for each, verdict in checked.items()
            if (verdict == (SAME, SAME)) is not said[each].right
        ]
        return JudgeFigures(
            judge=self._judge,
            judged=len(judged),
            split=sum(len(set(verdict)) != 1 for verdict in judged.values()),
            known=len(checked),
            wrong=len(mistaken),
        )

    def _map_verdicts(self, answers: Iterable[_Answer]) -> dict[_Answer, tuple[str, ...]]:
        """Return the verdicts on these answers; an answer that could not be judged is left out."""
        verdicts = {each: self._verdicts.get(each) for each in answers}
        return {each: verdict for each, verdict in verdicts.items() if verdict is not None}

    def _describe_judgement(self, question: BenchQuestion, said: str) -> tuple[str, Options]:
        words = BENCH[self._language]
        texts = [
            quote_lines(shorten_text(each, MAX_SHOWN))
            for each in (question.question, question.answer, said)
        ]
        topic = words.judge_topic.format(question=texts[0], expected=texts[1], given=texts[2])
        stances = zip(_SEATS, words.judge_stances, strict=True)
        seats = [Seat(id=seat, platform=self._judge, stance=stance) for seat, stance in stances]
        options: Options = {
            "protocol": "debate",
            "settings": {"debate": "never"},
            "seats": seats,
            "options": (SAME, DIFFERENT),
        }
        return topic, options | {"memory": False, "check": False, "language": self._language}

    async def _judge_answer(self, question: BenchQuestion, said: str, result: BenchResult) -> None:
        topic, options = self._describe_judgement(question, said)
        name = sha256("\n".join((self._judge, topic)).encode()).hexdigest()[:24]
        session = parse_session_id(f"judge-{name}")
        decision, status = await decide_once(
            self._moot, self._plan, result, topic, options | {"session": session}
        )
        verdict: tuple[str, ...] | None = None
        if decision is not None:
            answers = list_blind_answers(
                await self._moot.load_plugin(session),
                await self._moot.engine.entries(session),
                question,
            )
            verdict = tuple(answers[seat].said if seat in answers else "" for seat in _SEATS)
        self._verdicts[question.key, normalize_label(said)] = verdict
        is_right = None if verdict is None else verdict == (SAME, SAME)
        self._progress.add(self._judge, status if verdict is None else said, is_right=is_right)
