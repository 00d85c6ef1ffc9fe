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


class Kind(StrEnum):
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
        kind: Kind,
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
class Whom:
    """Who was asked, for the words of a failure: its name, its address if it is a server, the variable of its key."""

    name: str
    address: str | None = None
    variable: str | None = None
    secret: str | None = None


def loss_of(kind: Kind) -> Loss:
    """What the record calls it."""
    match kind:
        case Kind.AUTH | Kind.NO_KEY:
            return "rejected_key"
        case Kind.REFUSED:
            return "refused"
        case Kind.MALFORMED:
            return "malformed"
        case Kind.TIMEOUT:
            return "timeout"
        case _:
            return "error"


def sentence(failure: ModelFailure, whom: Whom) -> str:
    """What went wrong, and the remedy where there is one; never the key."""
    return scrubbed(_sentence(failure, whom), whom.secret)


def scrubbed(text: str, secret: str | None) -> str:
    """The text without the key."""
    if secret is None or len(secret) < SHORTEST_SECRET:
        return text
    return text.replace(secret, "[key]")


def _sentence(failure: ModelFailure, whom: Whom) -> str:
    name, status = whom.name, f" ({failure.status})" if failure.status is not None else ""
    told = scrubbed(failure.message, whom.secret)[:LONGEST_MESSAGE].rstrip(". ")
    match failure.kind:
        case Kind.NO_KEY:
            return f"{name} needs a key: set {whom.variable} or choose another --seat"
        case Kind.NO_PACKAGE:
            return f"models of {name} need another package: {told}"
        case Kind.AUTH if whom.variable is None:
            return f"{name} wants a key{status}: {told}; name the variable that holds it with ?key=VARIABLE"
        case Kind.AUTH:
            return f"{name} rejected the key in {whom.variable}{status}: {told}; set a valid key or choose another --seat"
        case Kind.QUOTA:
            return f"{name} says that the account is out of credit{status}: {told}; top it up or choose another --seat"
        case Kind.NOT_FOUND:
            return f"{name} has no such model or address{status}: {told}; check the model's name"
        case Kind.REJECTED:
            return f"{name} would not take the request{status}: {told}"
        case Kind.RATE_LIMITED:
            wait = "" if failure.retry_after is None else f"; it asks for {failure.retry_after:g} s of patience"
            return f"{name} is over its rate limit{status}: {told}{wait}"
        case Kind.REFUSED:
            return f"the model declined: {told}"
        case Kind.UNREACHABLE if whom.address is not None:
            return f"nothing answers at {whom.address}: is the server running?"
        case Kind.UNREACHABLE:
            return f"{name} cannot be reached: {told}; check the network or choose another --seat"
        case Kind.BROKEN:
            return f"the connection to {name} broke off: {told}"
        case Kind.SERVER:
            return f"{name} failed{status}: {told}"
        case Kind.TIMEOUT | Kind.MALFORMED:
            return told


def translated(error: Exception) -> ModelFailure:
    """What a pydantic-ai exception means."""
    from pydantic_ai.exceptions import ModelHTTPError

    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return ModelFailure(_kind(error), _message(error), status=status, retry_after=_retry_after(error))


def translated_sdk(error: Exception) -> ModelFailure:
    """What an exception of the openai, anthropic, google or mistral client itself means."""
    message = _message(error)
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int):
        if "Timeout" in type(error).__name__:
            return ModelFailure(Kind.TIMEOUT, message)
        return ModelFailure(_connection(error), message)
    if status in {401, 403} or "API_KEY_INVALID" in str(error):  # Google says 400
        return ModelFailure(Kind.AUTH, message, status=status)
    by_status = {402: Kind.QUOTA, 404: Kind.NOT_FOUND, 429: Kind.RATE_LIMITED}
    return ModelFailure(by_status.get(status, Kind.REJECTED if status < 500 else Kind.SERVER), message, status=status)


def _kind(error: Exception) -> Kind:
    from pydantic_ai import exceptions as known

    match error:
        case known.ModelAuthenticationError():
            return Kind.AUTH
        case known.ModelNotFoundError():
            return Kind.NOT_FOUND
        case known.ModelQuotaExceededError():
            return Kind.QUOTA
        case known.ModelRateLimitError():
            return Kind.RATE_LIMITED
        case known.ModelUnavailableError() | known.ModelServerError():
            return Kind.SERVER
        case known.ModelTimeoutError(phase="connect"):
            return Kind.UNREACHABLE
        case known.ModelTimeoutError() | known.ModelRequestTimeout():
            return Kind.TIMEOUT
        case known.ModelConnectionError():
            return _connection(error)
        case known.ModelRequestRejectedError():
            return Kind.AUTH if "API_KEY_INVALID" in str(error) else Kind.REJECTED
        case known.UserError():  # a setting or a name that cannot be: nothing was sent
            return Kind.REJECTED
        case known.ModelHTTPError(status_code=status):
            return Kind.SERVER if status >= 500 or status in {408, 409} else Kind.REJECTED
        case known.ContentFilterError():
            return Kind.REFUSED
        case known.UnexpectedModelBehavior():
            return Kind.MALFORMED
        case known.ModelAPIError() if isinstance(error.__cause__, ValueError):  # undecodable JSON
            return Kind.MALFORMED
        case _:
            return Kind.SERVER


def _connection(error: BaseException) -> Kind:
    return Kind.UNREACHABLE if any(type(cause).__name__ in _CONNECTING for cause in _causes(error)) else Kind.BROKEN


def _causes(error: BaseException) -> list[BaseException]:
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None and cause not in found:
        found.append(cause)
    return found


def _message(error: Exception) -> str:
    """The server's own words where it sent some, in one line."""
    body: object = getattr(error, "body", None)
    for _ in range(2):
        if isinstance(body, dict):
            body = body.get("error", body.get("message"))
    told = body if isinstance(body, str) and body else str(error) or type(error).__name__
    root = _causes(error)[-1]
    if not isinstance(body, str) and root is not error and str(root) and "onnection" in told:
        told = f"{told.rstrip('.')} ({root})"
    return " ".join(told.split())


def _retry_after(error: Exception) -> float | None:
    known: object = getattr(error, "retry_after", None)
    headers: object = getattr(error, "headers", None)
    if known is None and isinstance(headers, dict):
        known = headers.get("retry-after")  # pydantic-ai reads whole seconds only
    try:
        seconds = float(known) if isinstance(known, str | int | float) else math.nan
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
