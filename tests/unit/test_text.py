"""Signs are folded by one table, and numbers in words are read by one parser."""

import pytest

from moothall.domain.text.numerals import parse_chinese, parse_english, parse_number_words
from moothall.domain.text.signs import fold_text, simplify_han


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("three", 3),
        ("nineteen", 19),
        ("eighty-five", 85),
        ("eighty five", 85),
        ("one hundred", 100),
        ("a hundred", 100),
        ("two hundred forty one", 241),
        ("zero point eight", 0.8),
        ("三", 3),
        ("十五", 15),
        ("二十", 20),
        ("一百二十", 120),
        ("零点八五", 0.85),
        ("八成", 0.8),
        ("八成五", 0.85),
        ("十成", 1),
    ],
)
def test_a_number_in_words_is_read(words: str, number: float) -> None:
    """M-2: people and models write numbers as words."""
    assert parse_number_words(words) == number


@pytest.mark.parametrize(
    "words",
    [
        *("", "five five", "five twenty", "twenty zero", "point five", "one point"),
        *("three apples", "hundred hundred", "one point twelve"),
        *("点八", "八点", "三个", "八成半", "三point五"),
    ],
)
def test_what_is_no_number_is_not_read_as_one(words: str) -> None:
    assert parse_number_words(words) is None


def test_units_of_ten_thousand_multiply_what_stands_before_them() -> None:
    assert parse_chinese("三万五千") == 35_000
    assert parse_chinese("一亿二千万") == 120_000_000
    assert parse_chinese("一万亿") == 10**12
    assert parse_english([]) is None


def test_texts_are_compared_in_one_width_case_and_script() -> None:
    assert fold_text("**Ｓｕｐｐｏｒｔ**") == "support"
    assert fold_text("駁回，我反對") == "驳回,我反对"
    assert fold_text("I’m for it") == "i'm for it"


def test_folding_traditional_characters_keeps_the_length() -> None:
    text = "贊成擱置覆核 and 繁體"
    assert len(simplify_han(text)) == len(text)
    assert simplify_han(text) == "赞成搁置复核 and 繁体"
