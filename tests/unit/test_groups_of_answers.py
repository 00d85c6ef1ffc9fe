"""Q-3: which texts are one answer, whatever the order in which verdicts arrive, and how often a judge that errs is right all the same."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import combinations
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.judging import Verdict, judge_by, judge_with_errors

from moothall.domain.effects import Ask, Record
from moothall.domain.facts import AnswersJudged, Entry, Fact, Opened
from moothall.domain.groups import (
    NO_GROUPS,
    AnswerJudgement,
    AnswerJudgements,
    Groups,
    JudgedPair,
    PairVerdict,
    add_judged,
    add_owned,
)
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.session_state import ProtocolState, evolve_shared
from moothall.domain.topic import normalize_label
from moothall.protocols.answer_judge import (
    MAX_ASKED,
    MAX_LOOKS,
    MAX_WANTED,
    find_grouping_step,
    list_due_pairs,
    list_wanted_pairs,
)

TEXTS: Final = ("A", "use A", "go for A", "B", "use B", "C")
PAIRS: Final = [*combinations(TEXTS, 2)]
VERDICTS: Final = st.sampled_from(["same", "opposite", "different", None])
JUDGED: Final = st.lists(
    st.builds(
        lambda pair, first, second, again: JudgedPair(
            one=pair[0],
            other=pair[1],
            first=first,
            second=second,
            third=again[0],
            fourth=again[1],
        ),
        st.sampled_from(PAIRS),
        VERDICTS,
        VERDICTS,
        st.just((None, None)) | st.tuples(VERDICTS, VERDICTS),
    ),
    max_size=15,
    unique_by=lambda pair: pair.key,
)


@given(JUDGED, st.randoms(use_true_random=False))
def test_the_order_of_arrival_decides_nothing(pairs: list[JudgedPair], random: Random) -> None:
    """Q-3: neither that of the pairs, nor in how many answers they come, nor which text of a pair stands first."""
    at_once = add_judged(NO_GROUPS, pairs, ())
    shuffled = [*pairs]
    random.shuffle(shuffled)
    one_by_one = NO_GROUPS
    for pair in shuffled:
        turned = JudgedPair(
            one=pair.other,
            other=pair.one,
            first=pair.second,
            second=pair.first,
            third=pair.fourth,
            fourth=pair.third,
        )
        one_by_one = add_judged(one_by_one, [turned], ())
    assert one_by_one.heads == at_once.heads


@given(JUDGED)
def test_only_what_both_orders_call_the_same_is_joined_by_chains(pairs: list[JudgedPair]) -> None:
    """Q-3: every group hangs together by such pairs, and holds none that both orders call opposite."""
    groups = add_judged(NO_GROUPS, pairs, ())
    reached = _follow_chains(pair for pair in pairs if _list_last_orders(pair) == {"same"})
    for one, other in PAIRS:
        if groups.is_same(one, other):
            assert other in reached.get(one, {one})
    for pair in pairs:
        if _list_last_orders(pair) == {"opposite"}:
            assert not groups.is_same(pair.one, pair.other)
    if not any(_list_last_orders(pair) == {"opposite"} for pair in pairs):
        for one, others in reached.items():
            assert all(groups.is_same(one, other) for other in others)


def _list_last_orders(pair: JudgedPair) -> set[PairVerdict | None]:
    """What both orders say, when they were asked last."""
    again = {pair.third, pair.fourth}
    return {pair.first, pair.second} if None in again else again


def _follow_chains(links: Iterable[JudgedPair]) -> Mapping[str, set[str]]:
    """A second implementation: which texts can be reached from each."""
    reached: dict[str, set[str]] = {}
    for link in links:
        both = reached.get(link.one, {link.one}) | reached.get(link.other, {link.other})
        reached.update(dict.fromkeys(both, both))
    return reached


@given(JUDGED)
def test_listed_answers_are_never_joined(pairs: list[JudgedPair]) -> None:
    """Q-3: not by a chain of spellings either."""
    groups = add_judged(NO_GROUPS, pairs, ("A", "B", "C"))
    assert len({groups.find(each) for each in ("A", "B", "C")}) == 3


@given(JUDGED, st.sampled_from(PAIRS), st.booleans())
def test_the_owner_has_the_last_word(
    pairs: list[JudgedPair], pair: tuple[str, str], joined: bool
) -> None:
    """Q-3: whatever the judge said, before or after."""
    verdict: PairVerdict = "same" if joined else "opposite"
    owned = [JudgedPair(one=pair[0], other=pair[1], first=verdict, second=verdict)]
    before = add_judged(add_owned(NO_GROUPS, owned, ()), pairs, ())
    after = add_owned(add_judged(NO_GROUPS, pairs, ()), owned, ())
    assert before.heads == after.heads
    assert after.is_same(*pair) is joined


@given(st.text(max_size=40), st.text(max_size=40))
def test_without_any_verdict_equal_words_are_one_answer(one: str, other: str) -> None:
    """Q-3: exact text after folding, and no answer is the same as none."""
    is_equal = normalize_label(one) == normalize_label(other) != ""
    assert NO_GROUPS.is_same(one, other) is is_equal
    assert NO_GROUPS.name(one) == one


def test_a_group_is_named_by_one_of_its_members_and_words_stay_as_they_were_said() -> None:
    """Q-3, M-16"""
    same = JudgedPair(one="Use PostgreSQL!", other="PostgreSQL", first="same", second="same")
    groups = add_judged(NO_GROUPS, [same], ())
    assert groups.name("use postgresql") == "PostgreSQL"
    assert groups.list_members() == [("PostgreSQL", "Use PostgreSQL!")]
    listed = add_judged(NO_GROUPS, [same], ("Use PostgreSQL!",))
    assert listed.name("PostgreSQL") == "Use PostgreSQL!"
    other = JudgedPair(one="Rust", other="Zig", first="same", second="different")
    assert add_judged(groups, [other], ()).list_members() == groups.list_members()


# How often a table is seen as what it is

SPELLINGS: Final[tuple[tuple[str, ...], ...]] = (
    ("PostgreSQL", "use PostgreSQL", "Postgres", "go with Postgres", "a Postgres database", "PG"),
    ("two steps", "in two steps", "migrate in two steps", "step by step, in two", "two phases"),
    ("raise the price", "increase prices", "put the price up", "charge more", "higher price"),
    (
        "wait a quarter",
        "postpone by three months",
        "not before next quarter",
        "delay to Q3",
        "hold off for a quarter",
    ),
    ("hire two people", "two new hires", "add two to the team", "grow the team by two", "hire 2"),
    ("在家办公", "居家办公", "远程办公", "让大家在家工作", "允许远程工作"),
    ("先做试点", "从试点开始", "试点先行", "小范围试行", "先小规模试一试"),
    ("关闭旧接口", "停用旧 API", "下线旧接口", "不再支持旧接口", "移除旧的 API"),
)
"""Spellings of one answer each, written by hand before any of this code was run on them."""
DRAWN: Final = 400
SEATS: Final = 5
ERRORS: Final = 0.05


JUDGE: Final = Seat(id=SeatId("judge"), platform="script:judge")
OPENED: Final = Opened(topic="What do we do?", language="en", seed=1, seats=())
AT: Final = datetime(2026, 1, 1, tzinfo=UTC)


def _judge_table(answers: list[str], verdict: Verdict) -> tuple[Groups, list[int]]:
    """What a judge makes of a table, asked as a protocol asks it; and how many pairs each of its asks held."""
    state = ProtocolState(opened=OPENED, seats=(), judge_seat=JUDGE)
    asked: list[int] = []
    while True:
        wanted = list_wanted_pairs(state, answers)
        step = find_grouping_step(state, wanted, 60.0, "patience")
        if step is None:
            return state.groups, asked
        if isinstance(step, Record):
            fact: Fact = step.fact
        else:
            fact = _answer(step, list_due_pairs(state, wanted), verdict)
            asked.append(len(fact.said.judgements))
        state = evolve_shared(state, Entry(seq=1, at=AT, fact=fact))


def _answer(ask: Ask, pairs: Iterable[tuple[str, str]], verdict: Verdict) -> AnswersJudged:
    said: list[AnswerJudgement] = []
    for number, (one, other) in enumerate(pairs, 1):
        said.append(AnswerJudgement(pair=number, verdict=verdict(one, other), one=one, other=other))
    judgements = AnswerJudgements(judgements=tuple(said))
    return AnswersJudged(ask=ask.id, seat=JUDGE.id, said=judgements)


def _count_groups(answers: list[str], groups: Groups) -> list[int]:
    found = [groups.find(each) for each in answers]
    return sorted((found.count(each) for each in set(found)), reverse=True)


def _list_meanings() -> dict[str, str]:
    meanings: dict[str, str] = {}
    for camp in SPELLINGS:
        meanings.update(dict.fromkeys(camp, camp[0]))
    return meanings


def _draw(random: Random, sizes: tuple[int, ...], *, is_own: bool) -> list[str]:
    """One table of camps of these sizes: every seat in words of its own, or each spelling drawn anew."""
    answers: list[str] = []
    for camp, size in zip(random.sample(SPELLINGS, len(sizes)), sizes, strict=True):
        answers += random.sample(camp, size) if is_own else random.choices(camp, k=size)
    return answers


@pytest.mark.parametrize(
    ("sizes", "is_own", "least", "most_without"),
    [
        ((5,), True, 0.99, 0.0),
        ((3, 2), True, 0.85, 0.0),
        # Where two spellings are all there are, one pair decides.
        ((5,), False, 0.99, 0.05),
        ((3, 2), False, 0.85, 0.05),
    ],
)
def test_tables_are_seen_as_what_they_are_by_a_judge_that_errs_in_one_pair_of_twenty(
    sizes: tuple[int, ...], is_own: bool, least: float, most_without: float
) -> None:
    """Q-3: 400 drawn tables of five; without a judge the share is printed, and false unanimity is counted apart."""
    random = Random(7)
    judge = judge_with_errors(judge_by(_list_meanings()), ERRORS, random)
    asks: list[int] = []
    seen = seen_alone = false_unanimity = 0
    for _ in range(DRAWN):
        answers = _draw(random, sizes, is_own=is_own)
        groups, asked = _judge_table(answers, judge)
        asks.append(len(asked))
        counts = _count_groups(answers, groups)
        seen += counts == [*sizes]
        false_unanimity += counts == [SEATS] and len(sizes) > 1
        alone = _count_groups(answers, NO_GROUPS)
        seen_alone += alone == [*sizes]
        assert alone != [SEATS] or len(sizes) == 1
    print(
        f"camps {sizes}, {'own words' if is_own else 'words drawn anew'}: with a judge"
        f" {seen / DRAWN:.3f}, without {seen_alone / DRAWN:.3f},"
        f" false unanimity {false_unanimity / DRAWN:.3f}, {sum(asks) / DRAWN:.2f} asks, at most {max(asks)}"
    )
    assert max(asks) <= MAX_LOOKS
    assert seen / DRAWN >= least
    assert false_unanimity / DRAWN <= 0.03
    assert seen_alone / DRAWN <= most_without


def test_two_spellings_that_are_all_there_are_do_not_hang_on_one_slip() -> None:
    """Q-3: one pair decides here, so it is asked once more in both orders where one word alone keeps it apart."""
    random = Random(11)
    judge = judge_with_errors(judge_by(_list_meanings()), ERRORS, random)
    seen = parted = 0
    for _ in range(2_000):
        camp, other = random.sample(SPELLINGS, 2)
        one, two = random.sample(camp, 2)
        seen += _judge_table([one, two, one], judge)[0].is_same(one, two)
        parted += not _judge_table([one, other[0], one], judge)[0].is_same(one, other[0])
    print(f"one answer in two spellings: {seen / 2_000:.4f}; two answers: {parted / 2_000:.4f}")
    assert seen / 2_000 >= 0.985
    assert parted / 2_000 >= 0.995


def test_a_doubtful_pair_is_asked_once_more_in_both_orders_and_then_no_more() -> None:
    """Q-3: joined only where both orders say so at once."""
    same: PairVerdict = "same"
    different: PairVerdict = "different"
    opposite: PairVerdict = "opposite"
    cases: list[tuple[list[PairVerdict], bool, list[int]]] = [
        ([same, same], True, [1, 1]),
        ([same, different, same, same], True, [1, 1, 2]),
        ([same, different, same, different], False, [1, 1, 2]),
        ([different, same, same], True, [1, 2]),
        ([different, same, different], False, [1, 2]),
        ([opposite, same, same, same], True, [1, 1, 2]),
        ([opposite, opposite], False, [1, 1]),
    ]
    for said, is_joined, sizes in cases:
        words = iter(said)
        groups, asked = _judge_table(["A", "use A"], lambda one, other: next(words))  # noqa: B023 - consumed at once
        assert (groups.is_same("A", "use A"), asked) == (is_joined, sizes), said
        assert next(words, None) is None


def test_fifty_different_answers_cost_a_bounded_number_of_pairs() -> None:
    """Q-3: 1,225 pairs could be made of them; each answer is compared with the nearest, and nothing is compared twice."""
    answers = [f"answer number {number}" for number in range(50)]
    groups, asked = _judge_table(answers, lambda one, other: "different")
    assert sum(asked) <= MAX_WANTED + 50
    assert max(asked) <= MAX_ASKED
    assert groups.met == {normalize_label(each) for each in answers}
    state = ProtocolState(opened=OPENED, seats=(), judge_seat=JUDGE, groups=groups)
    assert list_wanted_pairs(state, answers) == ()
    fresh = list_wanted_pairs(state, [*answers, "answer number fifty"])
    assert {"answer number fifty"} < {text for pair in fresh for text in pair}
    assert len(fresh) == 50
