"""Short codes join a session: once, for a while, and nobody can try many (A-4)."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.server import Server
from tests.integration.test_session_views import in_memory, served

from moothall.errors import BadSetting, NotAllowed
from moothall.ledgers.memory import MemoryLedger
from moothall.memory.tokens import AccessDenied, Identity, IssuedToken, TokenStore, format_code, parse_code
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


@pytest.mark.parametrize("text", ["", "7K3Q", "7K3Q-9XRA-1", "7K3Q-9XR!", "moott_7K3Q_9XRA", "ＡＡＡＡＡＡＡＡ"])
def test_nothing_else_is_a_code(text: str) -> None:
    """A-4"""
    assert parse_code(text) == ""


def test_one_call_in_a_connected_agent_uses_a_code_up(tmp_path: Path) -> None:
    """A-4: it learns its seat and its steps; a second call is refused."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc("cstp.openDeliberation", topic="Which queue?", participants=["ada", "bob"])
            access, session = rpc.call.moot.access, opened["deliberationId"]
            token = await access.issue("seat", session=session, seat="ada", lasts=timedelta(days=1))
            code = format_code((await access.issue_code(token.id)).secret)
            joined = await rpc("moot.joinByCode", code=code)
            assert (joined["sessionId"], joined["seat"]) == (session, "ada")
            assert f"deliberationId={session}, participant=ada" in joined["prompt"]
            for wrong in (code, "7K3Q-9XRA", "nonsense"):
                with pytest.raises(NotAllowed, match="the code is unknown"):
                    await rpc("moot.joinByCode", code=wrong)

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
        assert (joined["session"], joined["seat"], joined["role"]) == (session, "minski", "seat")
        turn = server.client(joined["token"])("cstp.waitForTurn", deliberationId=session, timeoutSeconds=0)
        assert turn["status"] in {"your_turn", "pending"}
        refused = other("join", invited["code"], "--url", url, code=2)
        assert "not valid" in refused.err
        assert "is not a code" in other("join", "hello", "--url", url, code=2).err
        assert asyncio.run(guess(url)) == {401, 429}


async def guess(url: str) -> set[int]:
    import httpx2

    async with httpx2.AsyncClient(timeout=60) as client:
        answers = await asyncio.gather(*(client.post(f"{url}/join", json={"code": f"AAAA-{n:04}"}) for n in range(12)))
    return {answer.status_code for answer in answers}
