"""Which ideas count as one (S-8): the figures of the bench hold, and what holds for any text."""

import pytest
from bench.likeness.pairs import (
    KINDS,
    PARTS,
    Judgement,
    count_near,
    is_same_idea,
    judge_by_words,
    pairs,
    share,
    verdicts,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from moothall.participants.semantic_similarity import SentenceEncoder, is_installed
from moothall.scoring.likeness import (
    JOIN_AT,
    is_against,
    is_opposed,
    normalize_idea,
    scale_likeness,
)
from moothall.scoring.phrases import find_numbers

NEEDS_ENCODER = pytest.mark.skipif(not is_installed(), reason="needs the extra `embedded`")

SAID = [
    text for language in ("en", "zh") for pair in pairs(language) for text in (pair.one, pair.other)
]
ANY_TEXT = st.one_of(
    st.text(max_size=80),
    st.sampled_from(SAID),
    st.text(alphabet="不没有 not than比no,，.2二十% ab", max_size=40),
)

# How many of the 46 paraphrases of each language are among the three texts that are nearest to the first; measured.
NEAREST = {"en": 45, "zh": 42}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_there_are_sixty_pairs_and_more_of_three_kinds_in_each_language(language: str) -> None:
    """S-8"""
    found = pairs(language)
    assert len(found) >= 60
    assert min(sum(pair.kind == kind for pair in found) for kind in KINDS) >= 20
    assert {pair.part for pair in found} == set(PARTS)


@NEEDS_ENCODER
@pytest.mark.parametrize("language", NEAREST)
def test_by_meaning_a_paraphrase_is_among_the_three_nearest_texts_as_often_as_was_measured(
    language: str,
) -> None:
    """S-8, S-31: what the measure does not find the judge is not asked about."""
    assert count_near(SentenceEncoder().likeness, language) >= NEAREST[language]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", PARTS)
def test_by_words_hardly_anything_is_joined_falsely(language: str, part: str) -> None:
    """S-8"""
    found = verdicts(judge_by_words, language, part)
    assert share(found, "opposed") >= 0.9
    assert share(found, "near") == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Raise the minimum wage.", "Increase the minimum wage"),
        ("Cache reads at the edge", "cache READS at the edge!"),
        ("提高最低工资", "上调最低工资。"),
        ("采用微服务", "采用 微服务"),
    ],
)
def test_a_restatement_is_one_idea_without_any_package(one: str, other: str) -> None:
    """S-8"""
    (judgement,) = judge_by_words(one, [other])
    assert is_same_idea(judgement)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We should adopt microservices", "We should not adopt microservices"),
        ("应该采用微服务", "不应该采用微服务"),
        ("Raise taxes and lower spending", "Lower taxes and raise spending"),
        ("提高税收，降低支出", "降低税收，提高支出"),
        ("Prices rose by 4 percent", "Prices rose by nine percent"),
        ("价格上涨了百分之四", "价格上涨了9个百分点"),
        ("Trains emit less than planes", "Planes emit less than trains"),
        ("火车比飞机便宜", "飞机比火车便宜"),
        ("Raise the minimum wage", "降低最低工资"),
    ],
)
def test_opposite_sides_are_seen(one: str, other: str) -> None:
    """S-8"""
    assert is_opposed(one, other)
    assert is_opposed(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Trains emit less than planes", "Planes emit more than trains"),
        ("Show three plans at most", "Show no more than 3 plans"),
        ("Raise taxes and lower spending", "Increase taxes and reduce spending"),
        ("Raise taxes and lower spending", "Lower spending and raise taxes"),
        ("Limits belong at the gateway, not in each service", "Limits belong at the gateway"),
        ("没有向量时钟就无法发现并发写入", "发现并发写入需要向量时钟"),
    ],
)
def test_one_side_said_otherwise_is_not_opposed(one: str, other: str) -> None:
    """S-8"""
    assert not is_opposed(one, other)


def test_the_join_needs_likeness_and_no_opposition() -> None:
    assert [
        is_same_idea(Judgement(*values))
        for values in ((JOIN_AT, False), (0.49, False), (1.0, True))
    ] == [True, False, False]


@given(st.floats(0.01, 0.99), st.floats(-1.0, 1.0))
def test_scaling_moves_a_threshold_to_where_ideas_join(threshold: float, value: float) -> None:
    assert 0.0 <= scale_likeness(value, threshold) <= 1.0
    assert (scale_likeness(value, threshold) >= JOIN_AT) == (value >= threshold)


@given(ANY_TEXT)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    """S-8"""
    assert normalize_idea(normalize_idea(text)) == normalize_idea(text)


def test_normalising_forgets_case_width_punctuation_and_spaces() -> None:
    """S-8"""
    assert normalize_idea("  Ｃａｃｈｅ the READS! ") == "cache the reads"
    assert normalize_idea("提高 碳税，逐步。") == normalize_idea("提高碳税逐步")


@settings(deadline=None)
@given(ANY_TEXT, ANY_TEXT)
def test_words_judge_alike_from_both_sides_and_an_idea_is_itself(one: str, other: str) -> None:
    """S-8"""
    assert judge_by_words(one, [other]) == judge_by_words(other, [one])
    assert is_same_idea(judge_by_words(one, [one])[0])


@NEEDS_ENCODER
@settings(deadline=None, max_examples=40)
@given(ANY_TEXT, ANY_TEXT)
def test_meaning_measures_alike_from_both_sides(one: str, other: str) -> None:
    """S-8"""
    measure = SentenceEncoder().likeness
    assert measure(one, [other]) == pytest.approx(measure(other, [one]))
    assert measure(one, [one]) == pytest.approx([1.0 if one.strip() else 0.0])


@NEEDS_ENCODER
def test_text_that_is_no_text_is_judged_too() -> None:
    """S-8"""
    assert len(SentenceEncoder().likeness("\ud800", ["", "\udfff half", "。", "a" * 5_000])) == 4
    assert SentenceEncoder().likeness("alone", []) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("一亿二千万", "120000000"),
        ("一万亿", "1000000000000"),
        ("三万五千亿", "3500000000000"),
        ("二十万", "200000"),
        ("十五", "15"),
    ],
)
def test_a_chinese_numeral_is_one_number(text: str, number: str) -> None:
    assert list(find_numbers(text)) == [number]


def test_a_long_text_of_denials_is_compared_in_time() -> None:
    """S-8: each `not` looks for its `but` within a sentence, not up to the end of the text."""
    assert not is_against("not " * 30_000, "A cache saves money.")
