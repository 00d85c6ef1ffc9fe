"""Finding sessions by what was said in them, page by page (W-1), and a link that reads one of them (W-7)."""

from pathlib import Path

from tests.integration.test_session_views import hold_debate, in_memory, open_debate, say, served

from moothall.errors import NotAllowed
from moothall.memory.tokens import AccessDenied, Identity
from moothall_testkit.ledger_scenes import expect_error, run_with_deadline


def test_a_session_is_found_by_what_was_said_once_it_is_unsealed(tmp_path: Path) -> None:
    """W-1: words, with the entry that holds them; never a sealed word, never another session of a bound token."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            held, session = await hold_debate(rpc), await open_debate(rpc, "ada", "bob")
            await say(
                rpc, session, "ada", "propose", text="Beware of orphaned foreign keys.", choice="A"
            )
            assert (await rpc("moot.listSessions", query="foreign keys"))["sessions"] == []
            await say(rpc, session, "bob", "propose", choice="B")
            (line,) = (await rpc("moot.listSessions", query="foreign keys"))["sessions"]
            assert (line["sessionId"], line["saidEntry"]) == (session, 3)
            assert "orphaned foreign keys" in line["said"]
            assert (await rpc("moot.listSessions", query="foreign keys", protocol="persona"))[
                "sessions"
            ] == []
            bound = rpc.with_caller(role="observer", session=held)
            assert (await bound("moot.listSessions", query="foreign keys"))["sessions"] == []
            # What is said later is found as well, and a page begins where the one before ended.
            await rpc("moot.giveInput", sessionId=session, text="Nobody tested the migration.")
            (line,) = (await rpc("moot.listSessions", query="tested the migration"))["sessions"]
            assert line["sessionId"] == session
            pages = [await rpc("moot.listSessions", limit=1, after=after) for after in (0, 1, 2)]
            assert [[each["sessionId"] for each in page["sessions"]] for page in pages] == [
                [session],
                [held],
                [],
            ]
            assert {page["total"] for page in pages} == {2}

    run_with_deadline(work())


def test_a_link_reads_one_session_until_it_is_revoked(tmp_path: Path) -> None:
    """W-7: an observer's token for that session, listed without its secret; only an owner of all sessions revokes."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            session = await hold_debate(rpc)
            shared = await rpc("moot.shareSession", sessionId=session, url="https://moot.example/")
            address, _, secret = shared["link"].partition("#ticket=")
            assert address == f"https://moot.example/s/{session}"
            assert await rpc.call.moot.access.identify(secret) == Identity(
                id=shared["tokenId"], role="observer", session=session
            )
            (listed,) = [
                each
                for each in (await rpc("moot.listTokens"))["tokens"]
                if each["id"] == shared["tokenId"]
            ]
            assert secret not in str(listed)
            bound = rpc.with_caller(role="owner", session=session)
            await expect_error(NotAllowed, bound("moot.revokeToken", tokenId=shared["tokenId"]))
            await rpc("moot.revokeToken", tokenId=shared["tokenId"])
            denied = AccessDenied(reason="revoked", id=shared["tokenId"])
            assert await rpc.call.moot.access.identify(secret) == denied

    run_with_deadline(work())
