"""D-17: a decision that one agent makes alone is recorded, or put before a deliberation with the right seats."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from moothall import Moot
from moothall.app.deliberations import Deliberations
from moothall.app.solo_decisions import (
    MAX_PROPOSAL_LENGTH,
    SoloAnswer,
    SoloDecision,
    SoloDecisions,
    list_reviewers,
)
from moothall.domain.ids import SeatId
from moothall.errors import BadRoster, BadSetting
from moothall.memory.breakers import SoloVerdict
from moothall.memory.memory_state import Permission
from moothall.protocols.council.state import CouncilLine

T = TypeVar("T")
DEADLINE = 120.0
MEMORY = {"MOOT_LEDGER": "memory:"}


def hold(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, DEADLINE))


def wish(**more: Any) -> SoloDecision:
    """A decision with high stakes, which no agent may make alone."""
    fields = {
        "agent": "ada",
        "topic": "Which store?",
        "decision": "Use SQLite",
        "confidence": 0.9,
        "stakes": "critical",
        **more,
    }
    return SoloDecision(**fields)


def refuse(wanted: SoloDecision) -> tuple[SoloAnswer, CouncilLine]:
    """The answer, and what the deliberation begins with."""

    async def work() -> tuple[SoloAnswer, CouncilLine]:
        async with Moot(environ=MEMORY) as moot:
            deliberations = Deliberations(moot)
            answer = await SoloDecisions(moot, deliberations).decide(wanted)
            assert not answer.result.is_allowed
            [line] = (await deliberations.load_state(answer.result.deliberation)).council.lines
            return answer, line

    return hold(work())


def test_what_an_agent_may_decide_is_recorded_without_a_deliberation() -> None:
    async def work() -> None:
        async with Moot(environ=MEMORY) as moot:
            answer = await SoloDecisions(moot).decide(wish(stakes="medium"))
            assert (answer.result.is_allowed, answer.result.deliberation) == (True, "")
            assert (answer.participants, answer.reviewers) == ((), ())

    hold(work())


def test_the_longest_decision_is_taken_and_one_character_more_is_refused() -> None:
    async def work() -> None:
        async with Moot(environ=MEMORY) as moot:
            solo = SoloDecisions(moot)
            assert (
                await solo.decide(wish(stakes="low", decision="x" * MAX_PROPOSAL_LENGTH))
            ).result.is_allowed
            with pytest.raises(
                BadSetting,
                match=f"has {MAX_PROPOSAL_LENGTH + 1} characters; at most {MAX_PROPOSAL_LENGTH} are taken",
            ):
                await solo.decide(wish(stakes="low", decision="x" * (MAX_PROPOSAL_LENGTH + 1)))

    hold(work())


def test_a_refused_decision_is_the_first_proposal_and_a_seat_is_held_free() -> None:
    answer, line = refuse(wish())
    assert (answer.participants, answer.reviewers) == (("ada", "reviewer"), ())
    assert (line.seat, line.phase, line.said.text, line.said.confidence) == (
        "ada",
        "propose",
        "Use SQLite",
        0.9,
    )


@pytest.mark.parametrize(
    ("decision", "choice"),
    [
        ("Use SQLite in all places", "Use SQLite in all places"),
        ("Use SQLite in all our places", ""),
        ("x" * 100, "x" * 100),
        ("x" * 101, ""),
        ("Use\nSQLite", "Use SQLite"),
    ],
)
def test_a_decision_of_five_words_and_100_characters_is_its_own_label(
    decision: str, choice: str
) -> None:
    assert refuse(wish(decision=decision))[1].said.choice == choice


def test_an_agent_whose_name_is_not_a_seats_proposes_from_a_seat_of_that_name() -> None:
    answer, line = refuse(wish(agent="openai:gpt-5-mini"))
    assert (answer.participants, line.seat) == (("proposer", "reviewer"), "proposer")


def test_an_agent_that_is_called_reviewer_is_reviewed_by_another_seat() -> None:
    assert refuse(wish(agent="reviewer"))[0].participants == ("reviewer", "reviewer-2")


def test_named_reviewers_are_seated_once_and_never_the_agent_itself() -> None:
    answer, _ = refuse(wish(reviewers=("bob", "ada", "eve", "bob")))
    assert (answer.participants, answer.reviewers) == (("ada", "bob", "eve"), ("bob", "eve"))
    answer, _ = refuse(wish(reviewers=("reviewer",)))
    assert answer.reviewers == ("reviewer",), (
        "a reviewer of that name was named, the seat is not a free one"
    )


def test_a_retry_with_its_key_opens_no_second_deliberation() -> None:
    async def work() -> None:
        async with Moot(environ=MEMORY) as moot:
            solo = SoloDecisions(moot)
            once = await solo.decide(wish(key="k"))
            assert await solo.decide(wish(key="k")) == once
            others = [wish(), wish(), wish(key="other"), wish(key="k", agent="bob")]
            sessions = {
                once.result.deliberation,
                *[(await solo.decide(each)).result.deliberation for each in others],
            }
            assert len(sessions) == 1 + len(others)

    hold(work())


@pytest.mark.parametrize(
    "reviewers", [("Bob", "bob"), ("Ada",), tuple(f"r{number}" for number in range(70))]
)
def test_reviewers_who_cannot_sit_at_one_table_are_refused_before_anything_is_recorded(
    reviewers: tuple[str, ...],
) -> None:
    """D-17: the agent asks again with others, under the same key."""

    async def work() -> None:
        async with Moot(environ=MEMORY) as moot:
            solo = SoloDecisions(moot)
            with pytest.raises(BadRoster):
                await solo.decide(wish(reviewers=reviewers, key="k"))
            assert await moot.ledger.heads("_memory") == []
            assert (await solo.decide(wish(reviewers=("bob",), key="k"))).reviewers == ("bob",)

    hold(work())


def test_the_two_most_trusted_who_can_take_a_seat_are_invited() -> None:
    permission = Permission(
        verdict=SoloVerdict(), reviewers=("ann", "openai:gpt-5", "Ann", "bob", "eve")
    )
    assert list_reviewers(permission) == [SeatId("ann"), SeatId("bob")]
