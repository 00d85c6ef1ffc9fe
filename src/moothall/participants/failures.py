"""The failures of a model request: a small set of kinds, and the translation of exceptions from pydantic-ai and its clients.

A `ModelFailure` never leaves the participant: it becomes a `NoAnswer`, or the text of `ready`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from moothall.domain.causes import CauseCode, CauseSentence, state_cause
from moothall.domain.facts import Loss

MAX_MESSAGE_LENGTH: Final = 300
MIN_SECRET: Final = 8
"""Shorter keys are placeholders such as `none`; removing them would damage a text."""

_CONNECTING: Final = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"}
)


class FailureKind(StrEnum):
    NO_KEY = "no_key"
    NO_PACKAGE = "no_package"
    AUTH = "auth"
    QUOTA = "quota"
    """Out of credit: unlike a rate limit, waiting does not help."""
    NOT_FOUND = "not_found"
    """Unknown model, or no such API at that address."""
    NO_MODEL = "no_model"
    """The server lists no model that chats."""
    REJECTED = "rejected"
    """The server does not accept this request: too long, or with an unknown parameter."""
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    """The provider's content filter declined: the same request would be declined again."""
    DECLINED = "declined"
    """The model declined in words: asked again, it may answer."""
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    """The connection was established and then lost."""
    SERVER = "server"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    """The answer cannot be used."""


class ModelFailure(Exception):
    """One failed attempt. `is_cut`: the model ran out of tokens before it had answered."""

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

    @property
    def is_refused_part(self) -> bool:
        """Whether the server may have taken the request without one of its parts: tools, a schema, pictures."""
        return self.kind is FailureKind.REJECTED and self.status in {400, 422, 501}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """The endpoint, for error messages: its name, its address if it is a server, the variable of its key."""

    name: str
    address: str | None = None
    variable: str | None = None
    secret: str | None = None

    def scrub(self, text: str) -> str:
        """Remove the key from a text; some addresses hold it."""
        return scrub_secret(text, self.secret)


_LOSSES: Final[Mapping[FailureKind, Loss]] = {
    FailureKind.AUTH: "rejected_key",
    FailureKind.NO_KEY: "rejected_key",
    FailureKind.REFUSED: "refused",
    FailureKind.DECLINED: "refused",
    FailureKind.MALFORMED: "malformed",
    FailureKind.TIMEOUT: "timeout",
    # The server does not take this very request: another one may succeed.
    FailureKind.REJECTED: "error",
}


def to_loss(kind: FailureKind) -> Loss:
    """Return the reason that the ledger records; what is not of the model or the request is of the server."""
    return _LOSSES.get(kind, "unreachable")


def explain_failure(failure: ModelFailure, whom: ModelEndpoint) -> CauseSentence:
    """Explain what went wrong, with the remedy if there is one; never with the key."""
    # Scrubbed before it is cut: half a key would not be recognised any more.
    message = whom.scrub(failure.message)[:MAX_MESSAGE_LENGTH].rstrip(". ")
    code = _find_code(failure, whom)
    if code in _WITHOUT_MESSAGE:
        message = ""
    wait = None if failure.retry_after is None else f"{failure.retry_after:g}"
    address = None if whom.address is None else whom.scrub(whom.address)
    is_ollama = code == "no_chat_model" and whom.name == "ollama"
    return state_cause(
        code,
        message,
        name=whom.scrub(whom.name),
        key=whom.variable,
        status=failure.status,
        address=address,
        wait=wait,
        fetch="ollama pull llama3.2" if is_ollama else None,
    )


def scrub_secret(text: str, secret: str | None) -> str:
    """Remove the key from a text."""
    if secret is None or len(secret) < MIN_SECRET:
        return text
    return text.replace(secret, "[key]")


_CODES: Final[Mapping[FailureKind, CauseCode]] = {
    FailureKind.NO_KEY: "needs_key",
    FailureKind.NO_PACKAGE: "no_package",
    FailureKind.AUTH: "rejects_key",
    FailureKind.QUOTA: "no_credit",
    FailureKind.NOT_FOUND: "no_model",
    FailureKind.NO_MODEL: "no_chat_model",
    FailureKind.REJECTED: "not_taken",
    FailureKind.RATE_LIMITED: "rate_limit",
    FailureKind.REFUSED: "declined",
    FailureKind.UNREACHABLE: "not_reached",
    FailureKind.BROKEN: "broke_off",
    FailureKind.SERVER: "failed",
}
"""What went wrong; of any other failure the message says it."""
_WITHOUT_MESSAGE: Final = frozenset({"needs_key", "no_server", "cut_off"})


def _find_code(failure: ModelFailure, whom: ModelEndpoint) -> CauseCode:
    if failure.kind == FailureKind.AUTH and whom.variable is None:
        return "wants_key"
    if failure.kind == FailureKind.UNREACHABLE and whom.address is not None:
        return "no_server"
    if failure.is_cut:
        return "cut_off"
    return _CODES.get(failure.kind, "said")


def translate_error(error: Exception) -> ModelFailure:
    from pydantic_ai.exceptions import ModelHTTPError

    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return ModelFailure(
        _classify_error(error),
        _extract_message(error),
        status=status,
        retry_after=_parse_retry_after(error),
    )


def translate_sdk_error(error: Exception) -> ModelFailure:
    """Translate an exception of the openai, anthropic, google or mistral client itself."""
    message = _extract_message(error)
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int):
        if "Timeout" in type(error).__name__:
            return ModelFailure(FailureKind.TIMEOUT, message)
        return ModelFailure(_classify_connection(error), message)
    if status in {401, 403} or "API_KEY_INVALID" in str(error):  # Google says 400
        return ModelFailure(FailureKind.AUTH, message, status=status)
    kind = _BY_STATUS.get(status)
    if kind is None:
        kind = FailureKind.REJECTED if status < 500 else FailureKind.SERVER
    return ModelFailure(kind, message, status=status)


_BY_STATUS: Final[Mapping[int, FailureKind]] = {
    402: FailureKind.QUOTA,
    404: FailureKind.NOT_FOUND,
    429: FailureKind.RATE_LIMITED,
}


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
        case known.ModelRequestRejectedError() if "API_KEY_INVALID" in str(error):
            return FailureKind.AUTH
        case known.ModelRequestRejectedError():
            return FailureKind.REJECTED
        case known.UserError():  # a setting or a name that cannot be: nothing was sent
            return FailureKind.REJECTED
        case known.ModelHTTPError(status_code=status) if status >= 500 or status in {408, 409}:
            return FailureKind.SERVER
        case known.ModelHTTPError():
            return FailureKind.REJECTED
        case known.ContentFilterError():
            return FailureKind.REFUSED
        # A body that is not a completion is not the model's: a page of a proxy or of a hotel's network.
        case known.UnexpectedModelBehavior() if str(error).startswith("Invalid response from"):
            return FailureKind.SERVER
        case known.UnexpectedModelBehavior():
            return FailureKind.MALFORMED
        case _:
            return FailureKind.SERVER


def _classify_connection(error: BaseException) -> FailureKind:
    for cause in _list_causes(error):
        # By name: the classes belong to several HTTP libraries, which need not be installed.
        if type(cause).__name__ in _CONNECTING:
            return FailureKind.UNREACHABLE
    return FailureKind.BROKEN


def _list_causes(error: BaseException) -> list[BaseException]:
    causes = [error]
    # `not in` guards against cycles of causes.
    while (
        cause := causes[-1].__cause__ or causes[-1].__context__
    ) is not None and cause not in causes:
        causes.append(cause)
    return causes


def _extract_message(error: Exception) -> str:
    """Return the server's own message, if it sent one, on one line."""
    body: object = getattr(error, "body", None)
    # Google's client has another name for it, and its OpenAI-compatible API sends a list.
    if body is None:
        body = getattr(error, "details", None)
    if isinstance(body, list) and body:
        body = body[0]
    # Providers nest it: {"error": {"message": …}} or {"message": …}.
    for _ in range(2):
        if isinstance(body, dict):
            body = body.get("error", body.get("message"))
    message = str(error) or type(error).__name__
    if isinstance(body, str):
        return " ".join((body or message).split())
    root = _list_causes(error)[-1]
    if root is not error and str(root) and "onnection" in message:
        message = f"{message.rstrip('.')} ({root})"
    return " ".join(message.split())


def _parse_retry_after(error: Exception) -> float | None:
    known: object = getattr(error, "retry_after", None)
    headers: object = getattr(error, "headers", None)
    if known is None and isinstance(headers, dict):
        known = headers.get("retry-after")  # pydantic-ai reads whole seconds only
    if not isinstance(known, str | int | float):
        return None
    try:
        seconds = float(known)
    except ValueError:
        return None
    # NaN is none either.
    if not 0 <= seconds < math.inf:
        return None
    return seconds
