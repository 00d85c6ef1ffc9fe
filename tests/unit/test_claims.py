"""What a text claims (P-8): its stand, its figures and its reason, in its own words and within bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moothall.domain.claims import MAX_CLAIM_LENGTH, cut_text, extract_claim

POLITE = "Thank you all, this has been a rich exchange and I have learned a great deal from every one of you. "
FRIENDLY = "感谢各位的精彩发言，我从大家的讨论中学到了很多东西，这是一次难得的交流。"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Cut ten. And more.", "Cut ten. And more."),
        ("  a\n b\t c ", "a b c"),
        (
            POLITE * 3
            + "We should cut 10 % of the staff, because the runway is three months. "
            + POLITE * 2,
            "… We should cut 10 % of the staff, because the runway is three months. …",
        ),
        (
            FRIENDLY * 8 + "我反对裁员 20%，因为现金只够三个月。" + FRIENDLY * 4,
            "… 我反对裁员 20%，因为现金只够三个月。 …",
        ),
        (POLITE * 40 + "No: it costs 5 million.", "… No: it costs 5 million."),
        (
            f"1. {POLITE}{POLITE}2. Talent leaves, and 40 % of it never returns. {POLITE}",
            "… 2. Talent leaves, and 40 % of it never returns. …",
        ),
    ],
)
def test_a_digest_keeps_the_claim_and_not_the_first_sentence(text: str, claim: str) -> None:
    """P-8"""
    assert extract_claim(text) == claim


def test_a_stand_comes_before_figures_and_reasons_when_there_is_not_room_for_all() -> None:
    """P-8"""
    figures = "".join(
        f"In quarter {number} we spent {number} million on rent and light and heating. "
        for number in range(9)
    )
    claim = extract_claim(f"{figures}I oppose the move. {figures}")
    assert "I oppose the move." in claim
    assert "million" in claim


def test_a_sentence_that_is_too_long_gives_its_clauses() -> None:
    """P-8"""
    filler = "as everyone at this table has known for a long time and said before, " * 6
    assert "we must keep the 12 engineers" in extract_claim(
        f"Well, {filler}we must keep the 12 engineers, {filler}and so on."
    )


def test_a_sentence_of_more_than_half_the_room_gives_its_clauses_too() -> None:
    """P-8: one long sentence does not take the room of all others."""
    filler = "as everyone at this table has known for a long time, "
    long = f"Well, {filler}and as I said before, {filler * 3}we must keep the 12 engineers."
    claim = extract_claim(f"{long} {POLITE}I oppose the move to 5 offices. {POLITE}")
    assert "we must keep the 12 engineers" in claim
    assert "I oppose the move to 5 offices." in claim


@settings(derandomize=True, max_examples=300, deadline=None, database=None)
@given(st.text(alphabet=st.sampled_from("ab 1.,;。，！？…不应因为5%\n\"')"), max_size=2_000))
def test_a_claim_is_one_short_line_of_the_texts_own_words(text: str) -> None:
    """P-8"""
    claim = extract_claim(text)
    assert len(claim) <= MAX_CLAIM_LENGTH
    assert "\n" not in claim
    assert bool(claim.strip("… ")) == bool(text.strip("… \n"))
    line = " ".join(text.split())
    assert all(part.strip() in line for part in claim.split("…"))


def test_a_text_is_cut_at_a_word() -> None:
    """M-2"""
    assert cut_text("one two three", 13) == "one two three"
    assert cut_text("one two three", 12) == "one two…"
    assert cut_text("裁员会导致人才流失", 5) == "裁员会导…"
    assert cut_text(f"a {'b' * 50}", 20) == f"a {'b' * 17}…"
