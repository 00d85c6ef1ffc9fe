"""The bench for programs: what `moot bench` does, as a function (G-8)."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moothall.app.environment import open_ledger
from moothall.app.estimates import Range, estimate_session, find_price, list_unpriced
from moothall.domain.replace import dataclass
from moothall.features.bench.outcome import BenchOutcome
from moothall.features.bench.questions import (
    REVIEWED,
    BenchQuestion,
    build_questions,
    list_reviewed_questions,
    load_questions,
)
from moothall.features.bench.runs import (
    VOTE,
    BenchJudge,
    BenchPlan,
    BenchProgress,
    BenchRun,
    build_bench_options,
    count_recorded,
)
from moothall.features.bench.words import BENCH
from moothall.plugins import BadSetting, Language, Moot, Seat, SeatId, resolve_home

if TYPE_CHECKING:
    from moothall.ports.ledger import Ledger

BARE_IN: Final = 60
BARE_OUT: Final = 60
MAX_BARE_OUT: Final = 800
"""Tokens of a question alone, and of its answer."""
LISTED: Final = "questions"
"""What questions are called that come from no file."""

Questions = str | Path | Sequence[BenchQuestion | Mapping[str, Any]]
"""A file of questions, `reviewed`, or the questions themselves: mappings with question, answer, options, category, tolerance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchForecast:
    """What a bench is expected to cost, by its first question."""

    questions: int
    sessions: int
    recorded: int
    """How many of the sessions are recorded already."""
    calls: Range
    tokens: Range
    usd: Range | None
    """None where a price is not known."""
    judged: int | None = None
    """How many answers are judged at most; None without a judge."""
    unpriced: tuple[str, ...] = ()
    """The platforms that a limit in money cannot stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """What is to be compared, on which questions."""

    name: str
    questions: Sequence[BenchQuestion]
    plan: BenchPlan
    judge: str | None = None
    language: Language = "en"
    store: str = "memory:"
    """The ledger of its own that the answers are recorded in."""


async def load_bench_questions(moot: Moot, questions: Questions) -> tuple[str, list[BenchQuestion]]:
    """Return the name of a set of questions, and the questions; raises BadSetting with the place of a fault."""
    # A list of mappings is what a program has at hand; a text is always a path.
    if not isinstance(questions, str | Path):
        return LISTED, build_questions(questions)
    if _means_reviewed(questions):
        return REVIEWED, await list_reviewed_questions(await moot.recall())
    path = Path(questions)
    return path.name, load_questions(path)


def _means_reviewed(questions: str | Path) -> bool:
    """Whether the reviewed decisions of this home are meant, and no file of that name."""
    return str(questions) == REVIEWED and not Path(questions).exists()


def find_dry_store(store: str) -> str:
    """Return where a forecast looks for what is recorded: it leaves no new file behind."""
    if Path(store).exists():
        return store
    return "memory:"


def find_store(environ: Mapping[str, str], questions: Questions, ledger: str | Path | None) -> str:
    """Return the ledger of a bench: the one that is named, else one beside the file of the questions, else one in memory."""
    if ledger is not None:
        return str(ledger)
    if not isinstance(questions, str | Path):
        return "memory:"
    path = Path(questions)
    if _means_reviewed(questions):
        path = resolve_home(environ) / REVIEWED
    if not path.name:
        raise BadSetting(f"{path} is a folder; give a file of questions: questions.jsonl")
    return str(path.with_name(f"{path.name}.moot"))


def build_bench_plan(
    models: Sequence[str],
    votes: int | None,
    ways: Sequence[str],
    money: float | None,
    at_once: int,
) -> BenchPlan:
    """Return which ways are compared; raises BadSetting."""
    if not models:
        raise BadSetting("models: name at least one, such as openai:gpt-5-mini")
    if len(set(models)) < len(models) or len(set(ways)) < len(ways) or VOTE in ways:
        raise BadSetting(f"each --model and --way is given once, and {VOTE!r} is always tried")
    seats = votes or max(3, len(models))
    if seats < len(models):
        raise BadSetting(f"--votes {seats}: fewer seats than the {len(models)} models")
    return BenchPlan(
        models=tuple(models), votes=seats, protocols=tuple(ways), money=money, at_once=at_once
    )


async def run_bench(
    moot: Moot,
    questions: Questions,
    *,
    models: Sequence[str],
    votes: int | None = None,
    ways: Sequence[str] = (),
    judge: str | None = None,
    money: float | None = None,
    at_once: int = 4,
    ledger: str | Path | None = None,
    language: Language = "en",
    say: Callable[[str], object] = str,
) -> BenchOutcome:
    """Try each model alone, their blind vote, and protocols (`ways`) on questions whose answers are known.

    The answers are recorded in a `ledger` of their own: FILE.moot beside a file, else in memory. What is recorded there is not
    asked again. `say` receives a line for each session. Raises BadSetting, and MootError where a seat cannot be asked.
    """
    name, loaded = await load_bench_questions(moot, questions)
    request = BenchRequest(
        name=name,
        questions=loaded,
        plan=build_bench_plan(models, votes, ways, money, at_once),
        judge=judge,
        language=language,
        store=find_store(moot.environ, questions, ledger),
    )
    async with open_bench(moot, request.store) as bench:
        return await hold_bench(bench, request, say)


@asynccontextmanager
async def open_bench(moot: Moot, store: str) -> AsyncIterator[Moot]:
    """Open a Moot with what another one was given, on a ledger of its own: a bench is no part of anybody's decisions."""
    async with open_ledger(store) as ledger, _share(moot, ledger) as bench:
        yield bench


def _share(moot: Moot, ledger: "Ledger") -> Moot:
    return Moot(**moot.list_given(ledger))


async def hold_bench(
    bench: Moot, request: BenchRequest, say: Callable[[str], object]
) -> BenchOutcome:
    """Ask what is not recorded, and return all of it."""
    progress = BenchProgress(
        line=BENCH[request.language].progress, say=say, is_judged=request.judge is not None
    )
    judging = build_judge(bench, request, progress)
    result = await BenchRun(bench, request.plan, progress).run(request.questions)
    judged = None
    if judging is not None:
        judged = await judging.judge(request.questions, result)
    return BenchOutcome(
        name=request.name,
        questions=request.questions,
        models=request.plan.singles,
        ways=result.ways,
        unasked=result.unasked,
        judge=judged,
        language=request.language,
    )


def build_judge(
    bench: Moot, request: BenchRequest, progress: BenchProgress | None = None
) -> BenchJudge | None:
    """Return the judge of free answers, if one is asked for; raises BadSetting for one of the family of a model."""
    if request.judge is None:
        return None
    return BenchJudge(
        bench, request.plan, request.judge, request.language, progress or BenchProgress()
    )


async def forecast_bench(bench: Moot, request: BenchRequest) -> BenchForecast:
    """Return what all of it is expected to cost, by the first question; nobody is asked."""
    plan, questions = request.plan, request.questions
    judging = build_judge(bench, request)
    calls, tokens, usd = Range(0, 0), Range(0, 0), Range(0.0, 0.0)
    is_priced = True
    unpriced: dict[str, None] = {}
    first, each_time = questions[0], Range(len(questions), len(questions))
    work = [
        (first.question, build_bench_options(plan, way, first), each_time)
        for way in (VOTE, *plan.protocols)
    ]
    judgement = judging and judging.plan_judgements(questions)
    if judgement:
        # None at all, where every answer is right word by word.
        work.append((*judgement[:2], Range(0, judgement[2])))
    for topic, options, times in work:
        planned = await bench.plan_session(topic, **options)
        kinds = bench.seating.kinds
        estimate = estimate_session(planned.opened, kinds, planned.framer)
        if plan.money is not None:
            unpriced |= dict.fromkeys(list_unpriced(planned.opened.seats, kinds))
        calls, tokens = _add(calls, estimate.calls, times), _add(tokens, estimate.tokens, times)
        is_priced = is_priced and estimate.usd is not None
        usd = _add(usd, estimate.usd or Range(0, 0), times)
    for model in plan.models:
        # A question alone is short, and so is its answer; at least nothing, where all of it is recorded.
        asked = Seat(id=SeatId("model"), platform=model)
        calls = _add(calls, Range(1, 1), each_time)
        tokens = _add(tokens, Range(BARE_IN + BARE_OUT, BARE_IN + MAX_BARE_OUT), each_time)
        least = find_price(asked, BARE_IN, BARE_OUT)
        most = find_price(asked, BARE_IN, MAX_BARE_OUT)
        if least is None or most is None:
            is_priced = False
        else:
            usd = _add(usd, Range(float(least), float(most)), each_time)
    forecast = BenchForecast(
        questions=len(questions),
        sessions=len(questions) * (1 + len(plan.protocols)),
        recorded=await count_recorded(bench, plan, questions),
        calls=calls,
        tokens=tokens,
        usd=usd,
        unpriced=tuple(unpriced),
    )
    if not is_priced:
        # A sum without the part that nobody knows would look like the price.
        forecast = replace(forecast, usd=None)
    if judgement:
        forecast = replace(forecast, judged=judgement[2])
    return forecast


def _add(total: Range, more: Range, times: Range) -> Range:
    return Range(total.least + more.least * times.least, total.most + more.most * times.most)
