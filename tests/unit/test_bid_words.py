"""A bid that lacks a field is read from what else it says, and asked for again only if nothing says it (M-2)."""

from typing import Any

import pytest

from moothall.errors import BadAnswer
from moothall.features.persona.answer_table import FORMS, infer_bid_field
from moothall.features.persona.facts import Intent, JointBids
from moothall.reading.answers import parse_answer
from moothall.reading.lenient_parser import LenientParser
from moothall.reading.schemas import build_schema

SCHEMA = build_schema(Intent)


def read_bid(raw: object) -> tuple[float, bool]:
    parser = LenientParser(SCHEMA, infer=infer_bid_field)
    read: Any = parser.parse_text(raw) if isinstance(raw, str) else parser.normalize(raw)
    assert parser.notes
    return read["reaction_score"], read["intent_to_speak"]


@pytest.mark.parametrize(
    ("raw", "score", "wants"),
    [
        ({"intent_to_speak": True}, 0.5, True),
        ({"intent_to_speak": "no"}, 0.0, False),
        ({"intent_to_speak": True, "reason": "High: the budget is gone"}, 0.8, True),
        ({"intent_to_speak": True, "reason": "My urgency is 0.9, we lose money"}, 0.9, True),
        ({"intent_to_speak": True, "reason": "Costs fell by 30%"}, 0.5, True),
        ({"intent_to_speak": True, "reason": "High costs are the risk"}, 0.5, True),
        ({"intent_to_speak": True, "urgency": "high"}, 0.8, True),
        ({"reason": "I want to speak: nobody counted the cost"}, 0.5, True),
        ({"reason": "I have nothing to add."}, 0.0, False),
        ({"reaction_score": 0.7}, 0.7, True),
        ({"reaction_score": 0.2, "reason": "a detail"}, 0.2, False),
        ({"reaction_score": 0.2, "reason": "I'd like to add a detail"}, 0.2, True),
        ({"reaction_score": None, "intent_to_speak": True}, 0.5, True),
        ("I want to speak, with high urgency: the plan forgets the tests.", 0.8, True),
        ("I do not want to speak.", 0.0, False),
        ("我想发言：预算没有算进去。", 0.5, True),
        ("意愿：高。我要发言。", 0.8, True),
        ("没有补充，旁听。", 0.0, False),
    ],
)
def test_a_bid_is_read_from_what_it_says(raw: object, score: float, wants: bool) -> None:
    """M-2: whoever asks for the floor without a degree is an ordinary bidder."""
    assert read_bid(raw) == (score, wants)


@pytest.mark.parametrize(
    "raw",
    [
        {"reason": "The plan is late by 40%."},
        {"view": "agree"},
        "The plan is late.",
        "I have nothing to add on price, but I want to speak on safety.",
        # A reaction that was stated and cannot be read is not replaced by a guess.
        {"reaction_score": 7, "intent_to_speak": True},
        # An answer that was cut off may have said it at its end.
        '{"reaction_score": 0.',
    ],
)
def test_a_bid_that_says_nothing_of_it_is_asked_for_again(raw: object) -> None:
    """M-2"""
    with pytest.raises(BadAnswer):
        read_bid(raw)


def test_each_of_several_bids_is_read_in_the_same_way() -> None:
    """M-2"""
    said = {
        "bids": [
            {"node_id": "ada", "intent_to_speak": True},
            {"node_id": "bob", "reaction_score": 0.1},
        ]
    }
    read: Any = LenientParser(build_schema(JointBids), infer=FORMS["bids"].infer).normalize(said)
    assert [(bid["reaction_score"], bid["intent_to_speak"]) for bid in read["bids"]] == [
        (0.5, True),
        (0.1, False),
    ]


def test_a_bid_from_outside_names_its_fields() -> None:
    """M-2: whoever sent it is told what it lacks, and can send it again."""
    with pytest.raises(BadAnswer, match="reaction_score: it is needed, and missing"):
        parse_answer(FORMS["intent"], {"intent_to_speak": True, "reason": "urgency: low"})
