"""Agents that were invited: what they are asked for is what is taken, and nobody waits for a seat that is not there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_session_views import Rpc, in_memory, served

from moothall.domain.ids import parse_session_id
from moothall.surfaces.api.methods import TOOLS
from moothall.surfaces.api.toolsets import TOOL_WAIT_SECONDS, complete_arguments, describe_tools
from moothall_testkit.ledger_scenes import run_with_deadline

IDEA = "Use the table as the queue."
EXPLORERS = ("ada", "bob", "eve")


@asynccontextmanager
async def hosting(home: Path) -> AsyncIterator[Rpc]:
    async with served(in_memory(home)) as rpc:
        yield rpc


async def take_round(rpc: Rpc, session: str, report: Any) -> None:
    for seat in EXPLORERS:
        turn = await rpc("moot.swarmRound", sessionId=session, seat=seat, timeoutSeconds=30)
        if turn["status"] == "your_turn":
            await rpc("moot.swarmReport", sessionId=session, seat=seat, report=report)


def test_a_report_that_fits_its_schema_is_never_punished(tmp_path: Path) -> None:
    """M-3: three seats that send findings alone stay active; what they left out is filled in."""

    async def work() -> None:
        async with hosting(tmp_path) as rpc:
            settings = {"collisions": 0, "vote": False}
            opened = await rpc(
                "moot.swarmOpen",
                task="Which queue?",
                seats=EXPLORERS,
                maxRounds=3,
                settings=settings,
            )
            session = opened["sessionId"]
            (first, *_) = (
                await rpc("moot.getAsks", sessionId=session, seat="ada", timeoutSeconds=30)
            )["asks"]
            assert first["answerSchema"]["required"] == ["findings"]
            assert "decisionReport" not in first["answerSchema"]["properties"]
            for number in (1, 2):
                await take_round(rpc, session, {"findings": [{"coreIdea": f"{IDEA} {number}"}]})
            await rpc("moot.swarmRound", sessionId=session, seat="ada", timeoutSeconds=30)
            status = await rpc("moot.swarmStatus", sessionId=session, whole=True)
            agents = status["blackboard"]["agentStates"]
            assert {each["status"] for each in agents.values()} == {"active"}
            assert {each["violationScore"] for each in agents.values()} == {0}
            await rpc("moot.cancelSession", sessionId=session, reason="enough")

    run_with_deadline(work(), 60)


def test_a_swarm_takes_text_where_it_asks_for_text(tmp_path: Path) -> None:
    """D-5: the synthesis, as text or as an object."""

    async def work() -> None:
        async with hosting(tmp_path) as rpc:
            settings = {"collisions": 0, "synthesis": "always", "vote": False}
            opened = await rpc(
                "moot.swarmOpen",
                task="Which queue?",
                seats=EXPLORERS,
                maxRounds=1,
                settings=settings,
            )
            session = opened["sessionId"]
            await take_round(rpc, session, {"findings": [{"coreIdea": IDEA}]})
            asked = await rpc("moot.getAsks", sessionId=session, timeoutSeconds=30)
            (ask,) = asked["asks"]
            assert (ask["kind"], ask["form"]) == ("synthesis", "text")
            await rpc(
                "moot.swarmReport",
                sessionId=session,
                seat=ask["seat"],
                report="All hold the table.",
            )
            for ask in (await rpc("moot.getAsks", sessionId=session, timeoutSeconds=30))["asks"]:
                await rpc(
                    "moot.answer",
                    sessionId=session,
                    seat=ask["seat"],
                    answer={"action": "SHUTDOWN_ACK"},
                )
            await rpc("moot.getSession", sessionId=session, timeoutSeconds=30)
            text = (await rpc("moot.exportSession", sessionId=session))["text"]
            assert "All hold the table." in text

    run_with_deadline(work(), 60)


def test_the_deadline_of_an_invited_explorer_is_that_of_all_invited_seats(tmp_path: Path) -> None:
    """D-5: seven days as `--help` says; a round_timeout that was set binds everybody."""

    async def work() -> None:
        async with hosting(tmp_path) as rpc:
            for settings, life in (
                ({}, timedelta(days=7)),
                ({"round_timeout": 90}, timedelta(seconds=90)),
            ):
                opened = await rpc(
                    "moot.swarmOpen", task="Which queue?", seats=EXPLORERS, settings=settings
                )
                (ask, *_) = (
                    await rpc("moot.getAsks", sessionId=opened["sessionId"], timeoutSeconds=30)
                )["asks"]
                left = datetime.fromisoformat(ask["deadline"]) - datetime.now(UTC)
                assert life - timedelta(seconds=60) < left <= life

    run_with_deadline(work(), 60)


def test_a_roundtable_of_invited_agents_gets_its_minutes_from_one_of_them(tmp_path: Path) -> None:
    """D-5: there is no seat that nobody was invited to, and who is awaited is said."""

    async def work() -> None:
        async with hosting(tmp_path) as rpc:
            moot = rpc.call.moot
            session = await moot.open(
                "Which queue?", seats=["a=mailbox", "b=mailbox"], protocol="roundtable", hosted=True
            )
            seats = (await moot.engine.load_snapshot(parse_session_id(session))).session_state.seats
            assert [seat.id for seat in seats] == ["a", "b"]
            waiting = await rpc("moot.getAsks", sessionId=session, seat="b", timeoutSeconds=0.5)
            assert waiting["note"] == "Nothing yet; waiting for: a. Call again."
            assert (await rpc("moot.getSession", sessionId=session))["waitingFor"] == ["a"]
            for seat in ("a", "b"):
                asked = await rpc("moot.getAsks", sessionId=session, seat=seat, timeoutSeconds=30)
                assert [ask["kind"] for ask in asked["asks"]] == ["speech"]
                speech = "## Stance\nThe table.\n[CONSENSUS]\n[CHOICE] table"
                await rpc(
                    "moot.answer",
                    sessionId=session,
                    seat=seat,
                    answer={"content": speech, "consensus": True},
                )
            asked = await rpc("moot.getAsks", sessionId=session, seat="a", timeoutSeconds=30)
            assert [ask["kind"] for ask in asked["asks"]] == ["minutes"]
            minutes = "# Summary\nx\n# Consensus\nx\n# Disagreements\nnone\n# Action items\nnone"
            await rpc(
                "moot.answer",
                sessionId=session,
                seat="a",
                answer={"content": minutes, "choice": "table"},
            )
            while asked["status"] != "ended":
                asked = await rpc("moot.getAsks", sessionId=session, seat="a", timeoutSeconds=30)
                if asked["asks"]:
                    await rpc(
                        "moot.answer",
                        sessionId=session,
                        seat="a",
                        answer={"content": minutes, "choice": "table"},
                    )
            ended = await rpc("moot.getSession", sessionId=session)
            assert (ended["status"], ended["choice"], ended["waitingFor"]) == (
                "concluded",
                "table",
                [],
            )

    run_with_deadline(work(), 60)


def test_a_blind_ask_offers_only_what_is_blind(tmp_path: Path) -> None:
    """D-5: a seat that has read nobody is not offered to challenge; a call of the whole flow may all the same."""

    async def work() -> None:
        async with hosting(tmp_path) as rpc:
            opened = await rpc(
                "cstp.openDeliberation", topic="Which queue?", participants=["ada", "bob"]
            )
            session = opened["deliberationId"]
            words = {"type": "propose", "text": IDEA, "confidence": 0.7}
            await rpc("cstp.contribute", deliberationId=session, participant="ada", **words)
            turn = await rpc("cstp.waitForTurn", deliberationId=session, participant="bob")
            assert turn["ask"]["expected"] == ["propose", "pass"]
            assert "challenge" not in turn["note"]
            (ask,) = (await rpc("moot.getAsks", sessionId=session, seat="bob"))["asks"]
            assert "challenge" not in str(ask["answerSchema"])
            said = {"type": "propose", "text": "A broker.", "confidence": 0.6}
            await rpc("cstp.contribute", deliberationId=session, participant="bob", **said)
            turn = await rpc("cstp.waitForTurn", deliberationId=session, participant="bob")
            assert "challenge" in turn["ask"]["expected"]
            # What fits is said as at the other door, with the fields as this one spells them.
            (ask,) = (await rpc("moot.getAsks", sessionId=session, seat="bob"))["asks"]
            spelled = (
                str(turn["ask"]["answerSchema"])
                .replace("refersTo", "refers_to")
                .replace("movedBy", "moved_by")
            )
            assert spelled == str(ask["answerSchema"]) != str(turn["ask"]["answerSchema"])

    run_with_deadline(work(), 60)


def test_an_empty_id_is_as_good_as_none_for_a_token_of_one_session(tmp_path: Path) -> None:
    """D-2"""

    async def work() -> None:
        async with hosting(tmp_path) as rpc:
            opened = await rpc(
                "cstp.openDeliberation", topic="Which queue?", participants=["ada", "bob"]
            )
            session = opened["deliberationId"]
            seat = rpc.with_caller(role="seat", token="t", session=session, seat="ada").call
            for tool, given in (
                ("wait_for_turn", {"deliberationId": ""}),
                ("get_asks", {"sessionId": "", "timeoutSeconds": 0}),
            ):
                method = TOOLS[tool]
                await method.invoke(seat, await complete_arguments(seat, method, given))

    run_with_deadline(work(), 60)


@pytest.mark.parametrize(
    "name", ["wait_for_turn", "get_asks", "swarm_round", "join_conference", "get_session"]
)
def test_a_tool_that_waits_does_so_by_default_and_only_reads(name: str, tmp_path: Path) -> None:
    """D-5: a model that names no time does not poll in a hot loop, and no client asks its user before each wait."""

    async def work() -> None:
        (tool,) = describe_tools([name])
        assert tool["inputSchema"]["properties"]["timeoutSeconds"]["default"] == TOOL_WAIT_SECONDS
        assert (tool["annotations"]["readOnlyHint"], tool["annotations"]["idempotentHint"]) == (
            True,
            True,
        )
        async with hosting(tmp_path) as rpc:
            given = await complete_arguments(rpc.call, TOOLS[name], {"sessionId": "s"})
            assert given == {"sessionId": "s", "timeoutSeconds": TOOL_WAIT_SECONDS}
            chosen = {"sessionId": "s", "timeoutSeconds": 3}
            assert await complete_arguments(rpc.call, TOOLS[name], chosen) == chosen

    run_with_deadline(work(), 30)


def test_a_tool_that_writes_says_so() -> None:
    """D-5"""
    for name in ("answer_ask", "contribute", "consult", "open_session", "swarm_report"):
        (tool,) = describe_tools([name])
        assert tool["annotations"]["readOnlyHint"] is False
