"""Short codes join a session: once, for a while, and nobody can try many (A-4)."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.outside_agents.obedient_agent import SPEECH, fill, find_tools
from tests.acceptance.server import Server
from tests.integration.test_session_views import in_memory, served

from moothall.errors import BadSetting, MootError, NotAllowed
from moothall.ledgers.memory import MemoryLedger
from moothall.memory.tokens import (
    AccessDenied,
    Identity,
    IssuedToken,
    Token,
    TokenStore,
    format_code,
    parse_code,
)
from moothall.surfaces.api.method import SecretTries
from moothall.surfaces.api.methods import TOOLS
from moothall.surfaces.api.toolsets import ROLE_TOOLS
from moothall_testkit.ledger_scenes import run_with_deadline


class Hands:
    """A clock that a test sets."""

    at = datetime(2026, 11, 15, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


def test_a_code_works_once_and_for_a_short_time() -> None:
    """A-4: what it gives has the rights of its token, and ends with it."""

    async def work() -> None:
        clock = Hands()
        access = TokenStore(MemoryLedger(), clock)
        token = await access.issue("seat", session="s", seat="ada", lasts=timedelta(days=1))
        first, second = [await access.issue_code(token.id) for _ in range(2)]
        typed = format_code(first.secret).lower().replace("0", "o").replace("1", "l")
        assert parse_code(typed) == first.secret
        login = await access.log_in(parse_code(typed))
        assert isinstance(login, IssuedToken)
        identity = await access.identify(login.secret)
        assert isinstance(identity, Identity)
        assert (identity.role, identity.session, identity.seat) == ("seat", "s", "ada")
        assert await access.log_in(first.secret) == AccessDenied(reason="unknown")
        assert await access.identify(first.secret) == AccessDenied(reason="unknown")
        clock.at += timedelta(minutes=16)
        assert await access.log_in(second.secret) == AccessDenied(reason="expired", id=token.id)
        await access.revoke(token.id)
        assert await access.identify(login.secret) == AccessDenied(reason="revoked", id=token.id)
        with pytest.raises(BadSetting, match="at most 1 day"):
            await access.issue_code(token.id, timedelta(days=2))

    run_with_deadline(work(), 30)


@pytest.mark.parametrize(
    "text", ["", "7K3Q", "7K3Q-9XRA-1", "7K3Q-9XR!", "moott_7K3Q_9XRA", "ＡＡＡＡＡＡＡＡ"]
)
def test_nothing_else_is_a_code(text: str) -> None:
    """A-4"""
    assert parse_code(text) == ""


def test_one_call_in_a_connected_agent_uses_a_code_up(tmp_path: Path) -> None:
    """A-4: it learns its seat and its steps; a second call is refused."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "cstp.openDeliberation", topic="Which queue?", participants=["ada", "bob"]
            )
            access, session = rpc.call.moot.access, opened["deliberationId"]
            token = await access.issue("seat", session=session, seat="ada", lasts=timedelta(days=1))
            code = format_code((await access.issue_code(token.id)).secret)
            joined = await rpc("moot.joinByCode", code=code)
            assert (joined["sessionId"], joined["seat"]) == (session, "ada")
            assert f"sessionId={session}, seat=ada" in joined["prompt"]
            for wrong in (code, "7K3Q-9XRA", "nonsense"):
                with pytest.raises(NotAllowed, match="the code is unknown"):
                    await rpc("moot.joinByCode", code=wrong)

    run_with_deadline(work(), 30)


def test_an_agent_with_a_token_of_its_own_speaks_for_the_seat_that_its_code_is_for(
    tmp_path: Path,
) -> None:
    """A-4: in that session alone, until the seat's token ends; with one voice; a code that it cannot use stays valid."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            access = rpc.call.moot.access

            async def open_debate(*seats: str) -> str:
                return str(
                    (await rpc("cstp.openDeliberation", topic="Which?", participants=list(seats)))[
                        "deliberationId"
                    ]
                )

            async def invite(session: str, seat: str) -> tuple[str, str]:
                token = await access.issue(
                    "seat", session=session, seat=seat, lasts=timedelta(days=1)
                )
                return token.id, format_code((await access.issue_code(token.id)).secret)

            issued = await access.issue("agent", seat="builder", lasts=timedelta(days=1))
            ask = rpc.with_caller(role="agent", token=issued.id, seat="builder")
            session, other = await open_debate("ada", "bob"), await open_debate("ada", "bob")
            wait = {"deliberationId": session, "timeoutSeconds": 0}
            with pytest.raises(MootError, match="builder"):
                await ask("cstp.waitForTurn", **wait)
            seat, code = await invite(session, "ada")
            joined = await ask("moot.joinByCode", code=code)
            assert (joined["sessionId"], joined["seat"]) == (session, "ada")
            assert (await ask("cstp.waitForTurn", **wait))["status"] == "your_turn"
            await ask(
                "cstp.contribute",
                deliberationId=session,
                type="propose",
                text="Left.",
                confidence=0.5,
            )
            with pytest.raises(NotAllowed, match="only for the seat 'ada'"):
                await ask("cstp.waitForTurn", **wait, participant="bob")
            with pytest.raises(MootError, match="builder"):
                await ask("cstp.waitForTurn", deliberationId=other, timeoutSeconds=0)
            _, second = await invite(session, "bob")
            with pytest.raises(NotAllowed, match="you have the seat 'ada' in this session"):
                await ask("moot.joinByCode", code=second)
            assert isinstance(await access.find_token(parse_code(second)), Token)
            await access.revoke(seat)
            with pytest.raises(MootError, match="builder"):
                await ask("cstp.waitForTurn", **wait)

    run_with_deadline(work(), 30)


@pytest.mark.parametrize(
    "protocol", ["debate", "advisory", "consensus", "persona", "roundtable", "swarm"]
)
def test_a_code_seats_a_connected_agent_in_every_protocol(tmp_path: Path, protocol: str) -> None:
    """A-4: it takes part by the tools that it is shown, in the words of its prompt; its family is recorded where that counts."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            access, seats = rpc.call.moot.access, ["ada", "bob"]
            session = (
                await rpc(
                    "moot.openSession",
                    topic="Which?",
                    protocol=protocol,
                    seats=seats,
                    language="en",
                )
            )["sessionId"]
            token = await access.issue(
                "seat", session=session, seat="ada", lasts=timedelta(days=1), family="qwen"
            )
            issued = await access.issue("agent", seat="builder", lasts=timedelta(days=1))
            agent = rpc.with_caller(role="agent", token=issued.id, seat="builder")
            joined = await agent(
                "moot.joinByCode", code=format_code((await access.issue_code(token.id)).secret)
            )
            assert find_tools(joined["prompt"]) & TOOLS.keys() <= set(ROLE_TOOLS["agent"])
            assert f"sessionId={session}, seat=ada" in joined["prompt"]
            (ask,) = (await agent("moot.getAsks", sessionId=session, timeoutSeconds=20))["asks"]
            answer = SPEECH if ask["form"] == "text" else fill(ask["answerSchema"])
            written = await agent(
                "moot.answer", sessionId=session, seat="ada", ask=ask["ask"], answer=answer
            )
            assert written["entry"]
            seats_now = (await rpc.call.moot.engine.load_snapshot(session)).session_state.seats
            families = {str(each.id): each.family for each in seats_now}
            assert families["ada"] == (
                "qwen" if protocol in {"debate", "advisory", "consensus"} else ""
            )

    run_with_deadline(work(), 30)


def test_a_code_for_a_conference_in_files_is_refused_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-4: its tools are others; the sentence says what the code is good for."""
    monkeypatch.chdir(tmp_path)

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "moot.newConference", conference="c", topic="Which?", roles=["ada", "bob"]
            )
            access = rpc.call.moot.access
            token = await access.issue(
                "seat", session=opened["sessionId"], seat="ada", lasts=timedelta(days=1)
            )
            code = format_code((await access.issue_code(token.id)).secret)
            with pytest.raises(
                NotAllowed,
                match="a conference in files, which has tools of its own; it is still valid",
            ):
                await rpc("moot.joinByCode", code=code)
            assert isinstance(await access.find_token(parse_code(code)), Token)

    run_with_deadline(work(), 30)


def test_nobody_tries_many_codes_in_one_connection(tmp_path: Path) -> None:
    """A-4, N-8: after five wrong ones no other wrong one is looked up; a right one is, whoever tries wrong ones beside it."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "cstp.openDeliberation", topic="Which queue?", participants=["ada", "bob"]
            )
            access = rpc.call.moot.access
            token = await access.issue(
                "seat", session=opened["deliberationId"], seat="ada", lasts=timedelta(days=1)
            )
            code = format_code((await access.issue_code(token.id)).secret)
            guess = rpc.with_caller(role="agent", token="0badc0de", seat="eve")
            for n in range(5):
                with pytest.raises(NotAllowed, match="the code is unknown"):
                    await guess("moot.joinByCode", code=f"AAAA-{n:04}")
            with pytest.raises(NotAllowed, match=r"too many wrong codes were tried; wait \d sec"):
                await guess("moot.joinByCode", code="AAAA-0005")
            assert (await rpc("moot.joinByCode", code=code))["seat"] == "ada"

    run_with_deadline(work(), 30)


def test_the_second_half_of_a_code_cannot_be_guessed(tmp_path: Path) -> None:
    """A-4, N-8: who knows the first half has ten tries, from however many places; then the code is worth nothing, and others are."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            access = rpc.call.moot.access
            token = await access.issue("owner", lasts=timedelta(days=1))
            codes = [
                parse_code(format_code((await access.issue_code(token.id)).secret)) for _ in "ab"
            ]
            tries = SecretTries()
            half = codes[0].rpartition("_")[0]
            answers = [
                await tries.find_token(access, f"{half}_AAA{letter}", f"caller {letter}")
                for letter in "0123456789"
            ]
            assert all(isinstance(each, AccessDenied) for each in answers)
            assert isinstance(await tries.find_token(access, codes[0], "its owner"), AccessDenied)
            assert isinstance(await tries.find_token(access, codes[1], "another"), Token)

    run_with_deadline(work(), 30)


def test_twenty_people_of_one_office_join_at_once(tmp_path: Path) -> None:
    """N-8: right codes are not counted, also where somebody at the same address has guessed before."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            access = rpc.call.moot.access
            token = await access.issue("owner", lasts=timedelta(days=1))
            codes = [
                parse_code(format_code((await access.issue_code(token.id)).secret))
                for _ in range(20)
            ]
            tries = SecretTries()
            wrong = [
                await tries.find_token(access, f"moott_{n:04}_0000", "office") for n in range(8)
            ]
            assert wrong[-1] is None
            tokens = [await tries.find_token(access, code, "office") for code in codes]
            assert all(isinstance(each, Token) for each in tokens)

    run_with_deadline(work(), 30)

    run_with_deadline(work(), 30)


def test_another_machine_joins_by_the_code_and_a_guesser_is_held_up(tmp_path: Path) -> None:
    """A-4: `moot join` prints what `moot invite` would have; wrong codes of one address are refused and then not even tried."""
    cli, other = Cli(tmp_path / "home", tmp_path), Cli(tmp_path / "other", tmp_path)
    with Server(cli) as server:
        session = server.local.open()
        url = f"http://{server.address}"
        invited = cli.json("invite", session, "--seat", "minski", "--code", "--url", url)
        assert invited["command"] == f"moot join {invited['code']} --url {url}"
        assert "token" not in invited
        joined = other.json("join", invited["code"], "--url", url)
        assert (joined["sessionId"], joined["seat"], joined["role"]) == (session, "minski", "seat")
        turn = server.client(joined["token"])(
            "cstp.waitForTurn", deliberationId=session, timeoutSeconds=0
        )
        assert turn["status"] in {"your_turn", "pending"}
        refused = other("join", invited["code"], "--url", url, code=2)
        assert "not valid" in refused.err
        assert "is not a code" in other("join", "hello", "--url", url, code=2).err
        again = cli.json("invite", session, "--seat", "minski", "--code", "--url", url)["code"]
        assert asyncio.run(guess(url)) == {401, 429}
        # Where too many wrong ones were tried, a right one is looked up all the same.
        assert other.json("join", again, "--url", url)["seat"] == "minski"


async def guess(url: str) -> set[int]:
    import httpx2

    async with httpx2.AsyncClient(timeout=60) as client:
        answers = await asyncio.gather(
            *(client.post(f"{url}/join", json={"code": f"AAAA-{n:04}"}) for n in range(12))
        )
    return {answer.status_code for answer in answers}
