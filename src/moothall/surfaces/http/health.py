"""Liveness and readiness, for whatever supervises a process: without a token, and without a word that needs one."""

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

LIVE: Final = "/livez"
READY: Final = "/readyz"
HEALTH: Final = "/healthz"
"""The first name of readiness, which clients and load balancers know."""
RETRY_SECONDS: Final = 2


async def answer_live(request: Request) -> Response:
    """That anything is answered at all is the answer."""
    return JSONResponse({"status": "ok"})


def build_ready(reason: str) -> Response:
    """The answer of a process that is ready, or is not for a reason."""
    if not reason:
        return JSONResponse({"status": "ok"})
    return JSONResponse({"status": "failing", "reason": reason}, 503, {"Retry-After": str(RETRY_SECONDS)})
