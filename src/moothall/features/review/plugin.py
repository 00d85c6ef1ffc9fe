"""Registers the review protocol."""

from collections.abc import Sequence
from typing import Final

from moothall.features.review import timeline
from moothall.features.review.change import split_parts
from moothall.features.review.facts import AUTHOR, ReviewOpened, ReviewSettings
from moothall.features.review.rules import RULES
from moothall.features.review.sarif import render_sarif
from moothall.plugins import (
    LONG_ANSWER,
    SHORT_ANSWER,
    BadRoster,
    BadSetting,
    ExpectedCalls,
    Opened,
    Plan,
    ProtocolPlugin,
    SeatId,
    validate_seats,
)

PROMPT_TOKENS: Final = 700
"""Of a prompt without the change."""
WEIGHED_TOKENS: Final = 3_000
"""Of the findings in a prompt that asks to weigh them, as there usually are."""
_ALONE: Final = "reviewers answer blind and consult nobody; seats that consult meet by another protocol, such as persona"


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Each part once by all; then at most one check of findings and one vote on those that are disputed."""
    assert isinstance(opened, ReviewOpened)
    seats = tuple(seat.id for seat in opened.seats if seat.id != AUTHOR)
    parts = split_parts(opened.subject.context, opened.settings.part_size)
    sizes = [PROMPT_TOKENS + round(sum(file.size for file in part) / 3.5) for part in parts]
    reading = [
        ExpectedCalls(seats=seats, least=1, most=1, tokens_out=LONG_ANSWER, tokens_in=size)
        for size in sizes
    ]
    weighing = ExpectedCalls(
        seats=seats,
        least=0,
        most=1,
        tokens_out=LONG_ANSWER,
        tokens_in=PROMPT_TOKENS + WEIGHED_TOKENS,
    )
    return (*reading, *_expect_reads(opened, seats, sizes), weighing, weighing)


def _expect_reads(
    opened: ReviewOpened, seats: tuple[SeatId, ...], sizes: Sequence[int]
) -> list[ExpectedCalls]:
    """What is looked up in the repository: each call sends the prompt once more, with what came back."""
    tools = opened.tools
    if opened.tree is None or tools.switch == "off":
        return []
    returned = tools.tokens // 2
    calls: list[ExpectedCalls] = []
    for size in sizes:
        calls.append(
            ExpectedCalls(
                seats=seats,
                least=0,
                most=tools.calls,
                tokens_out=SHORT_ANSWER,
                tokens_in=size + returned,
            )
        )
    return calls


def open_session(plan: Plan) -> ReviewOpened:
    """The opening of a review; raises BadSetting when there is nothing to review, BadRoster."""
    assert isinstance(plan.settings, ReviewSettings)
    if not split_parts(plan.subject.context, plan.settings.part_size):
        raise BadSetting(
            "there is nothing to review; give a diff or files: `git diff | moot review -`, or --file change.diff"
        )
    if limited := next((seat.id for seat in plan.seats if seat.sees), None):
        raise BadSetting(
            f"seat {limited!r} has `sees`, and every reviewer reads all of the change; take it out of the panel"
        )
    if all(seat.id == AUTHOR for seat in plan.seats):
        raise BadRoster(
            f"the seat {AUTHOR!r} only answers to what reviewers raise; seat some: --panel reviewers, or --seat"
        )
    return plan.opening(ReviewOpened, seats=validate_seats(plan.seats), settings=plan.settings)


REVIEW: Final = ProtocolPlugin(
    name="review",
    rules=RULES,
    settings=ReviewSettings,
    open=open_session,
    timeline=timeline.ReviewTimeline,
    decision=timeline.build_decision,
    describe=timeline.add_and_describe_entry,
    report=timeline.build_review_report,
    exports={"summary": timeline.render_summary, "sarif": render_sarif},
    expect=expect_calls,
    opens_by_question=False,
    unfit={
        "embedded": "the embedded model cannot review: it is too small to find faults, and its approval means nothing"
    },
    refuses={
        "turns": "its length is that of the change; limit it with tokens, money or time",
        "kind": "its verdict is approve or request changes",
        "frame": "its verdict is approve or request changes",
        "options": "its verdict is approve or request changes",
        "facts": "its reviewers all read the change, and say what they find in it",
        **dict.fromkeys(
            ("consult", "consult_limit", "consult_total", "consult_patience", "gate", "project"),
            _ALONE,
        ),
    },
)
