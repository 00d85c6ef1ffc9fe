"""W-7: what a browser sends by itself, its cookie, changes nothing unless a page of this server asked."""

from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from moothall.ledgers.memory import MemoryLedger
from moothall.memory.tokens import TokenStore
from moothall.surfaces.http.access_control import AccessControl
from moothall.surfaces.http.browser_grants import COOKIE
from moothall.surfaces.http.server_settings import ServerSettings
from moothall_testkit.ledger_scenes import run_with_deadline

HOST = "moot.example"


class Noon:
    def now(self) -> datetime:
        return datetime(2025, 3, 1, 12, tzinfo=UTC)


async def answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.state.caller.role)


async def send(method: str, headers: dict[str, str], *, is_token: bool) -> int:
    access = TokenStore(MemoryLedger(), Noon())
    secret = (await access.issue("owner", lasts=timedelta(days=1))).secret
    app = AccessControl(
        Starlette(routes=[Route("/rpc", answer, methods=["GET", "POST"])]),
        access=lambda: access,
        owner=lambda: "",
        is_local=False,
        settings=ServerSettings(),
    )
    known = {"authorization": f"Bearer {secret}"} if is_token else {"cookie": f"{COOKIE}={secret}"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url=f"http://{HOST}"
    ) as client:
        found = await client.request(
            method, "/rpc", headers={"content-type": "application/json", **known, **headers}
        )
    return found.status_code


@pytest.mark.parametrize(
    ("method", "headers", "is_token", "status"),
    [
        ("POST", {}, False, 403),
        ("POST", {"origin": f"http://{HOST}"}, False, 200),
        ("POST", {"sec-fetch-site": "same-origin"}, False, 200),
        ("POST", {"origin": "http://evil.example"}, False, 403),
        ("POST", {"sec-fetch-site": "cross-site"}, False, 403),
        ("GET", {}, False, 200),
        ("POST", {}, True, 200),
        ("POST", {"origin": "http://evil.example"}, True, 403),
    ],
)
def test_a_cookie_changes_nothing_without_the_origin_of_the_server(
    method: str, headers: dict[str, str], is_token: bool, status: int
) -> None:
    """W-7: a token is given on purpose, so that it needs no origin; one of another server is refused with both."""

    async def work() -> None:
        assert await send(method, headers, is_token=is_token) == status

    run_with_deadline(work())
