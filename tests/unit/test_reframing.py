"""Q-1: what a person types at the frame that Moot has made: other answers, a kind, a text, or no frame."""

import pytest

from moothall.app.framing import reframe
from moothall.domain.facts import Opened
from moothall.domain.topic import Frame, Topic
from moothall.errors import BadSetting

MADE = Frame(kind="choice", answers=("Postgres", "MySQL"), made_by="model", model="m")
OPENED = Opened(
    topic="Which database for how many days?",
    language="en",
    seed=1,
    seats=(),
    subject=Topic(options=("Postgres", "MySQL")),
    frame=MADE,
)


@pytest.mark.parametrize(
    ("typed", "frame", "options"),
    [
        ("A / B", Frame(kind="choice", answers=("A", "B"), made_by="opener"), ("A", "B")),
        ("open", Frame(kind="open", made_by="opener"), ()),
        ("-", Frame(kind="open", made_by="opener"), ()),
        ("number", Frame(kind="number", made_by="opener", unit="days"), ()),
        ("Yes-No", Frame(kind="yes_no", answers=("yes", "no"), made_by="opener"), ()),
        ("forecast", Frame(kind="forecast", answers=("yes", "no"), made_by="opener"), ()),
        (" off ", None, ()),
    ],
)
def test_what_is_typed_is_the_frame(
    typed: str, frame: Frame | None, options: tuple[str, ...]
) -> None:
    changed = reframe(OPENED, typed)
    assert changed.frame == frame
    assert changed.subject.options == options


@pytest.mark.parametrize("typed", ["SQLite", "A / a", "/"])
def test_one_answer_is_no_list(typed: str) -> None:
    with pytest.raises(BadSetting):
        reframe(OPENED, typed)
