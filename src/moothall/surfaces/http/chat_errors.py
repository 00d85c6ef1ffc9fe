"""Errors in OpenAI's shape, for the paths that chat clients call."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

CHAT_PATHS: Final = "/v1/"
"""What the paths of chat clients begin with."""
_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES: Final = {401: "invalid_api_key", 403: "permission_denied", 429: "rate_limit_exceeded"}


def build_chat_error(
    status: int, message: str, code: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An error with its status."""
    return JSONResponse(build_error_body(status, message, code, param), status, headers=dict(headers or {}))


def build_error_body(status: int, message: str, code: str, param: str | None = None) -> dict[str, Any]:
    """A sentence, and OpenAI's type for such a status."""
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message.strip(), "type": kind, "param": param, "code": code}}


def reshape_refusal(refusal: Response) -> Response:
    """A refusal of the server's door, in OpenAI's shape."""
    text = bytes(refusal.body).decode()
    try:
        message = json.loads(text)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = text
    kept = {name: value for name, value in refusal.headers.items() if name in {"www-authenticate", "retry-after"}}
    return build_chat_error(refusal.status_code, message, _CODES.get(refusal.status_code, "refused"), headers=kept)
