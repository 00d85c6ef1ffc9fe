"""Q-3: which texts are one answer, whatever the order in which verdicts arrive, and how often a judge that errs is right all the same."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.judging import Verdict, judge_by, judge_with_errors

from moothall.domain.groups import (
    NO_GROUPS,
    Groups,
    JudgedPair,
    PairVerdict,
    add_judged,
    add_owned,
)
from moothall.domain.topic import normalize_label

TEXTS: Final = ("A", "use A", "go for A", "B", "use B", "C")
PAIRS: Final = [*combinations(TEXTS, 2)]
VERDICTS: Final = st.sampled_from(["same", "opposite", "different", None])
JUDGED: Final = st.lists(
    st.builds(
        lambda pair, first, second: JudgedPair(
            one=pair[0], other=pair[1], first=first, second=second
        ),
        st.sampled_from(PAIRS),
        VERDICTS,
        VERDICTS,
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
        turned = JudgedPair(one=pair.other, other=pair.one, first=pair.second, second=pair.first)
        one_by_one = add_judged(one_by_one, [turned], ())
    assert one_by_one.heads == at_once.heads


@given(JUDGED)
def test_only_what_both_orders_call_the_same_is_joined_by_chains(pairs: list[JudgedPair]) -> None:
    """Q-3: every group hangs together by such pairs, and holds none that both orders call opposite."""
    groups = add_judged(NO_GROUPS, pairs, ())
    reached = _follow_chains(pair for pair in pairs if pair.first == pair.second == "same")
    for one, other in PAIRS:
        if groups.is_same(one, other):
            assert other in reached.get(one, {one})
    for pair in pairs:
        if pair.first == pair.second == "opposite":
            assert not groups.is_same(pair.one, pair.other)
    if not any(pair.first == pair.second == "opposite" for pair in pairs):
        for one, others in reached.items():
            assert all(groups.is_same(one, other) for other in others)


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


def _judge_table(answers: list[str], verdict: Verdict) -> Groups:
    """What a judge makes of a table: the second order only where the first could join or exclude."""
    pairs: list[JudgedPair] = []
    for one, other in combinations(sorted({normalize_label(each) for each in answers}), 2):
        first, second = verdict(one, other), None
        if first != "different":
            second = verdict(other, one)
        pairs.append(JudgedPair(one=one, other=other, first=first, second=second))
    return add_judged(NO_GROUPS, pairs, ())


def _count_groups(answers: list[str], groups: Groups) -> list[int]:
    found = [groups.find(each) for each in answers]
    return sorted((found.count(each) for each in set(found)), reverse=True)


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
        # Where two spellings are all there are, one pair decides, and nothing outvotes an error on it.
        ((5,), False, 0.95, 0.05),
        ((3, 2), False, 0.85, 0.05),
    ],
)
def test_tables_are_seen_as_what_they_are_by_a_judge_that_errs_in_one_pair_of_twenty(
    sizes: tuple[int, ...], is_own: bool, least: float, most_without: float
) -> None:
    """Q-3: 400 drawn tables of five; without a judge the share is printed, and false unanimity is counted apart."""
    meanings: dict[str, str] = {}
    for camp in SPELLINGS:
        meanings.update({normalize_label(text): camp[0] for text in camp})
    random = Random(7)
    judge = judge_with_errors(judge_by(meanings), ERRORS, random)
    seen = seen_alone = false_unanimity = 0
    for _ in range(DRAWN):
        answers = _draw(random, sizes, is_own=is_own)
        counts = _count_groups(answers, _judge_table(answers, judge))
        seen += counts == [*sizes]
        false_unanimity += counts == [SEATS] and len(sizes) > 1
        alone = _count_groups(answers, NO_GROUPS)
        seen_alone += alone == [*sizes]
        assert alone != [SEATS] or len(sizes) == 1
    print(
        f"camps {sizes}, {'own words' if is_own else 'words drawn anew'}: with a judge"
        f" {seen / DRAWN:.3f}, without {seen_alone / DRAWN:.3f},"
        f" false unanimity {false_unanimity / DRAWN:.3f}"
    )
    assert seen / DRAWN >= least
    assert false_unanimity / DRAWN <= 0.03
    assert seen_alone / DRAWN <= most_without
