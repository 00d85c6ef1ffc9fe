"""What a person is asked where a protocol brings no questions of its own: one for each field that can be typed (M-8)."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Le, MaxLen

from moothall.domain.context import ContextWindow, Perception
from moothall.domain.effects import AnswerForm, Ask, Brief
from moothall.domain.facts import Language, Reply
from moothall.domain.ids import AskId, SeatId
from moothall.domain.roster import Seat
from moothall.reading.person_asks import build_person_ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    text: Annotated[str, MaxLen(2_000)]
    mood: Literal["glad", "sorry"]
    note: Annotated[str, MaxLen(100)] = ""
    is_final: bool = False
    score: Annotated[float, Ge(0), Le(1)] | None = None
    sources: tuple[str, ...] = ()
    place: Place | None = None
    places: tuple[Place, ...] = ()


def build_brief(language: Language = "en") -> Brief:
    return Brief(
        ask=Ask(id=AskId("1.remark.ada"), seat=SeatId("ada"), kind="remark", turn=1, patience=60),
        seat=Seat(id=SeatId("ada"), platform="human"),
        form=AnswerForm(kind="remark", reply=Reply, shape=Remark, form="json", max_tokens=100),
        language=language,
        seed=1,
        nth=1,
        perception=Perception(goal="g", memory=ContextWindow(window=1)),
        system="",
        shared="",
        own="",
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_field_that_can_be_typed_is_asked_for_the_needed_ones_first(
    language: Language,
) -> None:
    """M-8: nobody is asked for JSON, so what has fields of its own is left out."""
    steps = build_person_ask(build_brief(language)).steps
    assert [(step.name, step.is_needed, step.is_long) for step in steps] == [
        ("text", True, True),
        ("mood", True, False),
        ("note", False, False),
        ("is_final", False, False),
        ("score", False, False),
        ("sources", False, True),
    ]
    assert [choice.value for choice in steps[1].choices] == ["glad", "sorry"]
    assert len({step.text for step in steps}) == len(steps)


def test_what_was_typed_becomes_the_answer() -> None:
    """M-8: fields that nobody typed are left out."""
    person = build_person_ask(build_brief())
    typed = {
        "text": "Ship it.",
        "mood": "glad",
        "note": "",
        "is_final": "yes",
        "score": "0.5",
        "sources": "a\nb",
    }
    assert person.build(typed) == {
        "text": "Ship it.",
        "mood": "glad",
        "is_final": True,
        "score": 0.5,
        "sources": ["a", "b"],
    }
