"""The headline of a decision is not repeated below it, and what is left out never changes what was said."""

import pytest

from moothall.reports import blocks
from moothall.reports.blocks import shorten_quote


@pytest.mark.parametrize(
    ("text", "answer", "shown"),
    [
        ("No migration now.", "No", "No migration now."),
        ("10.25 (±0.25)", "10.25", "10.25 (±0.25)"),
        ("Ship it. Then rest.", "Ship it.", "… Then rest."),
        ("上线。然后休息。", "上线。", "… 然后休息。"),
        ("Ship\nbehind a flag", "Ship", "… behind a flag"),
        ("Ship it.", "Ship it.", None),
        ("Ship it.", "Wait.", "Ship it."),
    ],
)
def test_only_a_whole_sentence_is_left_out(text: str, answer: str, shown: str | None) -> None:
    """M-9, M-13."""
    quote = shorten_quote(blocks.Quote(text), answer)
    assert (None if quote is None else quote.text) == shown
