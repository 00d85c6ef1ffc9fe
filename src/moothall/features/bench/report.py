"""The report of a bench: how the ways of deciding did on questions whose answers are known."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from moothall.features.bench.questions import BenchQuestion
from moothall.features.bench.trials import (
    JudgeFigures,
    Recommendation,
    Trial,
    WayFigures,
    compare_pairs,
    list_bins,
    measure_share,
    recommend,
    sum_up,
)
from moothall.features.bench.words import BENCH, BenchText
from moothall.plugins import (
    Bar,
    Bars,
    Block,
    Details,
    Language,
    Line,
    LineChart,
    Report,
    Series,
    SessionId,
    build_section,
    build_table,
    one_line,
    shorten_text,
)

_NONE: Final = "–"
MAX_ROWS: Final = 200
"""How many questions one table has."""
MAX_QUESTION: Final = 200
MAX_SAID: Final = 80


def build_bench_report(
    name: str,
    ways: Mapping[str, Mapping[str, Trial]],
    singles: Sequence[str],
    unasked: Mapping[str, int],
    language: Language,
    *,
    judge: JudgeFigures | None = None,
    questions: Sequence[BenchQuestion] = (),
    categories: Mapping[str, Mapping[str, WayFigures]] = MappingProxyType({}),
) -> Report:
    """Return the report: what to use, in one sentence; then the figures, the differences and how sure each way was; at last what
    each way answered to each question."""
    words = BENCH[language]
    figures = {way: sum_up(list(trials.values())) for way, trials in ways.items()}
    count = len({key for trials in ways.values() for key in trials})
    advice = recommend(ways, singles)
    missing = [
        Line(words.unasked[why].format(count=count), "warn")
        for why, count in unasked.items()
        if count
    ]
    rows = [(way, *_list_cells(each, words)) for way, each in figures.items()]
    against = _list_differences(ways, advice.single, words)
    differences = (build_table(words.difference_heads, against),) if against else ()
    shares = [
        Bar(name=way, value=each.share, text=f"{each.right}/{each.asked}")
        for way, each in figures.items()
    ]
    bars = Bars(tuple(shares))
    best = Line(describe_recommendation(advice, figures, words), "strong")
    # The sums first, each answer last: a thousand questions must not stand before what they came to.
    record = [
        *build_section(words.figures, (bars, build_table(words.heads, rows))),
        *build_section(words.differences.format(way=advice.single), differences),
        *build_section(words.by_category, _build_categories(categories, words)),
    ]
    record += build_section(words.sureness, _chart_sureness(ways, words))
    record += build_section(words.answers, _list_answers(ways, questions, words))
    return Report(
        session=SessionId(name),
        language=language,
        title=words.title,
        topic=words.topic.format(name=one_line(name), questions=count),
        decision=(best, *_describe_judge(judge, words), *missing),
        record=tuple(record),
    )


def _build_categories(
    categories: Mapping[str, Mapping[str, WayFigures]], words: BenchText
) -> tuple[Block, ...]:
    """How many questions of each category each way answers right."""
    rows: list[tuple[str, ...]] = []
    for category, figures in categories.items():
        shares = [f"{each.right}/{each.asked}" for each in figures.values()]
        rows.append((one_line(category) or words.no_category, *shares))
    if not rows:
        return ()
    ways = next(iter(categories.values()))
    return (build_table((words.category, *ways), rows),)


def _list_answers(
    ways: Mapping[str, Mapping[str, Trial]], questions: Sequence[BenchQuestion], words: BenchText
) -> tuple[Block, ...]:
    """What each way answered to each question, and which answers are wrong; folded, in tables of bounded length."""
    tables: list[Block] = []
    for start in range(0, len(questions), MAX_ROWS):
        part = questions[start : start + MAX_ROWS]
        rows = [_describe_question(each, ways) for each in part]
        title = words.answers_of.format(first=start + 1, last=start + len(part))
        table = build_table((*words.answer_heads, *ways), rows)
        tables.append(Details(title, (table,)))
    return tuple(tables)


def _describe_question(
    question: BenchQuestion, ways: Mapping[str, Mapping[str, Trial]]
) -> tuple[str, ...]:
    cells = [
        shorten_text(one_line(question.question), MAX_QUESTION),
        shorten_text(one_line(question.answer), MAX_SAID),
    ]
    for trials in ways.values():
        trial = trials.get(question.key)
        if trial is None:
            cells.append(_NONE)
            continue
        said = shorten_text(one_line(trial.said), MAX_SAID) or _NONE
        mark = "✗"
        if trial.right:
            mark = "✓"
        cells.append(f"{mark} {said}")
    return tuple(cells)


def _list_differences(
    ways: Mapping[str, Mapping[str, Trial]], single: str, words: BenchText
) -> list[tuple[str, str, str]]:
    """Return by how much each other way differs from the best single model, and whether that is clear."""
    rows: list[tuple[str, str, str]] = []
    for way, trials in ways.items():
        if way == single:
            continue
        difference = compare_pairs(trials, ways[single])
        if difference.questions:
            amount = f"{difference.mean:+.1%} ± {difference.error:.1%}"
            rows.append((way, amount, words.clear if difference.is_clear else words.unclear))
    return rows


def describe_recommendation(
    advice: Recommendation, figures: Mapping[str, WayFigures], words: BenchText
) -> str:
    """Return which way to use, and why, in one sentence."""
    single, chosen = figures[advice.single], figures[advice.way]
    gain = f"{advice.difference.mean:+.1%} ± {advice.difference.error:.1%}"
    shown = {
        "single": advice.single,
        "right": single.right,
        "asked": single.asked,
        "gain": gain,
        "way": advice.way,
    }
    if not advice.is_measured:
        return words.too_few.format(**shown)
    if advice.is_enough:
        return words.one_is_enough.format(**shown)
    return words.use.format(**shown, times=f"{chosen.calls / max(1, single.calls):.1f}")


def _describe_judge(judge: JudgeFigures | None, words: BenchText) -> tuple[Line, ...]:
    """How often the judge of free answers errs: no figure above is more exact than that."""
    if judge is None or not judge.judged:
        return ()
    rows = [
        (words.judge_split, judge.split, judge.judged),
        (words.judge_wrong, judge.wrong, judge.known),
    ]
    shares = [
        (text, count, among, measure_share(count, among)) for text, count, among in rows if among
    ]
    lines = [
        text.format(count=count, among=among, share=f"{of[0]:.0%} ± {of[1]:.0%}")
        for text, count, among, of in shares
    ]
    return (
        Line(" ".join((words.judged.format(judge=judge.judge, among=judge.judged), *lines)), "dim"),
    )


def _list_cells(each: WayFigures, words: BenchText) -> tuple[str, ...]:
    per = max(1, each.asked)
    right = brier = calibration = _NONE
    if each.asked:
        right = f"{each.right}/{each.asked} ({each.share:.0%} ± {each.error:.0%})"
    if each.brier is not None:
        brier = f"{each.brier:.3f}"
    if each.calibration is not None:
        calibration = f"{each.calibration:.3f}"
    cost = words.price_unknown if each.cost is None else f"${each.cost / 1e6 / per:.4f}"
    return (
        right,
        str(each.asked - each.answered),
        brier,
        calibration,
        f"{each.calls / per:.1f}",
        f"{each.tokens / per:,.0f}",
        cost,
        f"{each.seconds / per:.1f}",
    )


def _chart_sureness(ways: Mapping[str, Mapping[str, Trial]], words: BenchText) -> tuple[Block, ...]:
    """How often each way was right where it said to be so sure: on the diagonal it is as sure as it is right."""
    bins = {way: list_bins(list(trials.values())) for way, trials in ways.items()}
    rows = [
        (way, f"{sure:.0%}", f"{right}/{count}", f"{right / count:.0%}")
        for way, each in bins.items()
        for sure, count, right in each
    ]
    if not rows:
        return (Line(words.no_sureness),)
    labels = tuple(f"{20 * at}–{20 * at + 20} %" for at in range(5))
    series = []
    for way, each in ((way, each) for way, each in bins.items() if each):
        shares = {min(4, int(sure * 5)): right / count for sure, count, right in each}
        series.append(Series(way, tuple(shares.get(at) for at in range(5))))
    return (
        LineChart(label=words.sureness_label, labels=labels, series=tuple(series)),
        build_table(words.sureness_heads, rows),
    )
