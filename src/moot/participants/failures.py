"""How asking a model can fail: a small set of kinds, and what the exceptions of pydantic-ai and of the clients below it mean.

A `ModelFailure` never leaves the participant: it becomes a `NoAnswer`, or a sentence of `ready`.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from moot.domain.facts import Loss

LONGEST_MESSAGE: Final = 300
SHORTEST_SECRET: Final = 8
"""Shorter keys are placeholders such as `none`; taking them out of a text would maim it."""

_CONNECTING: Final = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"})


class FailureKind(StrEnum):
    NO_KEY = "no_key"
    NO_PACKAGE = "no_package"
    AUTH = "auth"
    QUOTA = "quota"
    """Out of credit: unlike a rate limit, waiting does not help."""
    NOT_FOUND = "not_found"
    """No such model, or no such API at that address."""
    REJECTED = "rejected"
    """The server will not take this request: too long, or a parameter that it does not know."""
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    """The model or the provider's content filter declined."""
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    """The connection was there, and then was not."""
    SERVER = "server"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    """An answer came, but not one that can be used."""


class ModelFailure(Exception):
    """One attempt that failed. `is_cut`: the model ran out of room before it had answered."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        is_cut: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.is_cut = is_cut


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """Who was asked, for the words of a failure: its name, its address if it is a server, the variable of its key."""

    name: str
    address: str | None = None
    variable: str | None = None
    secret: str | None = None


def to_loss(kind: FailureKind) -> Loss:
    """What the record calls it."""
    match kind:
        case FailureKind.AUTH | FailureKind.NO_KEY:
            return "rejected_key"
        case FailureKind.REFUSED:
            return "refused"
        case FailureKind.MALFORMED:
            return "malformed"
        case FailureKind.TIMEOUT:
            return "timeout"
        case _:
            return "error"


def explain_failure(failure: ModelFailure, whom: ModelEndpoint) -> str:
    """What went wrong, and the remedy where there is one; never the key."""
    return scrub_secret(_explain_unscrubbed(failure, whom), whom.secret)


def scrub_secret(text: str, secret: str | None) -> str:
    """The text without the key."""
    if secret is None or len(secret) < SHORTEST_SECRET:
        return text
    return text.replace(secret, "[key]")


def _explain_unscrubbed(failure: ModelFailure, whom: ModelEndpoint) -> str:
    name, status = whom.name, f" ({failure.status})" if failure.status is not None else ""
    told = scrub_secret(failure.message, whom.secret)[:LONGEST_MESSAGE].rstrip(". ")
    match failure.kind:
        case FailureKind.NO_KEY:
            return f"{name} needs a key: set {whom.variable} or choose another --seat"
        case FailureKind.NO_PACKAGE:
            return f"models of {name} need another package: {told}"
        case FailureKind.AUTH if whom.variable is None:
            return f"{name} wants a key{status}: {told}; name the variable that holds it with ?key=VARIABLE"
        case FailureKind.AUTH:
            return f"{name} rejected the key in {whom.variable}{status}: {told}; set a valid key or choose another --seat"
        case FailureKind.QUOTA:
            return f"{name} says that the account is out of credit{status}: {told}; top it up or choose another --seat"
        case FailureKind.NOT_FOUND:
            return f"{name} has no such model or address{status}: {told}; check the model's name"
        case FailureKind.REJECTED:
            return f"{name} would not take the request{status}: {told}"
        case FailureKind.RATE_LIMITED:
            wait = "" if failure.retry_after is None else f"; it asks for {failure.retry_after:g} s of patience"
            return f"{name} is over its rate limit{status}: {told}{wait}"
        case FailureKind.REFUSED:
            return f"the model declined: {told}"
        case FailureKind.UNREACHABLE if whom.address is not None:
            return f"nothing answers at {whom.address}: is the server running?"
        case FailureKind.UNREACHABLE:
            return f"{name} cannot be reached: {told}; check the network or choose another --seat"
        case FailureKind.BROKEN:
            return f"the connection to {name} broke off: {told}"
        case FailureKind.SERVER:
            return f"{name} failed{status}: {told}"
        case FailureKind.TIMEOUT | FailureKind.MALFORMED:
            return told


def translate_error(error: Exception) -> ModelFailure:
    """What a pydantic-ai exception means."""
    from pydantic_ai.exceptions import ModelHTTPError

    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return ModelFailure(_classify_error(error), _extract_message(error), status=status, retry_after=_parse_retry_after(error))


def translate_sdk_error(error: Exception) -> ModelFailure:
    """What an exception of the openai, anthropic, google or mistral client itself means."""
    message = _extract_message(error)
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int):
        if "Timeout" in type(error).__name__:
            return ModelFailure(FailureKind.TIMEOUT, message)
        return ModelFailure(_classify_connection(error), message)
    if status in {401, 403} or "API_KEY_INVALID" in str(error):  # Google says 400
        return ModelFailure(FailureKind.AUTH, message, status=status)
    by_status = {402: FailureKind.QUOTA, 404: FailureKind.NOT_FOUND, 429: FailureKind.RATE_LIMITED}
    return ModelFailure(
        by_status.get(status, FailureKind.REJECTED if status < 500 else FailureKind.SERVER), message, status=status
    )


def _classify_error(error: Exception) -> FailureKind:
    from pydantic_ai import exceptions as known

    match error:
        case known.ModelAuthenticationError():
            return FailureKind.AUTH
        case known.ModelNotFoundError():
            return FailureKind.NOT_FOUND
        case known.ModelQuotaExceededError():
            return FailureKind.QUOTA
        case known.ModelRateLimitError():
            return FailureKind.RATE_LIMITED
        case known.ModelUnavailableError() | known.ModelServerError():
            return FailureKind.SERVER
        case known.ModelTimeoutError(phase="connect"):
            return FailureKind.UNREACHABLE
        case known.ModelTimeoutError() | known.ModelRequestTimeout():
            return FailureKind.TIMEOUT
        case known.ModelConnectionError():
            return _classify_connection(error)
        case known.ModelRequestRejectedError():
            return FailureKind.AUTH if "API_KEY_INVALID" in str(error) else FailureKind.REJECTED
        case known.UserError():  # a setting or a name that cannot be: nothing was sent
            return FailureKind.REJECTED
        case known.ModelHTTPError(status_code=status):
            return FailureKind.SERVER if status >= 500 or status in {408, 409} else FailureKind.REJECTED
        case known.ContentFilterError():
            return FailureKind.REFUSED
        case known.UnexpectedModelBehavior():
            return FailureKind.MALFORMED
        case known.ModelAPIError() if isinstance(error.__cause__, ValueError):  # undecodable JSON
            return FailureKind.MALFORMED
        case _:
            return FailureKind.SERVER


def _classify_connection(error: BaseException) -> FailureKind:
    return (
        FailureKind.UNREACHABLE
        if any(type(cause).__name__ in _CONNECTING for cause in _list_causes(error))
        else FailureKind.BROKEN
    )


def _list_causes(error: BaseException) -> list[BaseException]:
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None and cause not in found:
        found.append(cause)
    return found


def _extract_message(error: Exception) -> str:
    """The server's own words where it sent some, in one line."""
    body: object = getattr(error, "body", None)
    for _ in range(2):
        if isinstance(body, dict):
            body = body.get("error", body.get("message"))
    told = body if isinstance(body, str) and body else str(error) or type(error).__name__
    root = _list_causes(error)[-1]
    if not isinstance(body, str) and root is not error and str(root) and "onnection" in told:
        told = f"{told.rstrip('.')} ({root})"
    return " ".join(told.split())


def _parse_retry_after(error: Exception) -> float | None:
    known: object = getattr(error, "retry_after", None)
    headers: object = getattr(error, "headers", None)
    if known is None and isinstance(headers, dict):
        known = headers.get("retry-after")  # pydantic-ai reads whole seconds only
    try:
        seconds = float(known) if isinstance(known, str | int | float) else math.nan
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
