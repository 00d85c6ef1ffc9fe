"""Parses the platform text of a seat that a model fills. Pure: the environment comes in as a mapping.

openai:gpt-5-mini                        a provider and one of its models
ollama                                   a local server; without a model, the first that it lists
http://localhost:8080/v1#qwen3           any OpenAI-compatible server by its address
…?intents=token&temperature=0.2          options, last; `key=VARIABLE` names the variable that holds a server's key
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final, Literal

from moothall.domain.safe_text import compile_late, split_address
from moothall.errors import UnknownPlatform

Intents = Literal["answer", "token"]

SERVER: Final = "server"
"""The provider of a platform that is given by its address."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """A provider that needs a key."""

    title: str
    """The vendor's name, as people write it."""
    keys: Sequence[str]
    """The variables that hold its key, the first that is set."""
    cheap: str = ""
    """An affordable model of it, which is offered by default."""
    address: str | None = None
    """Its OpenAI-compatible API, where its own package is not needed for that."""
    compatible: str | None = None
    """Its OpenAI-compatible API, which is asked where its own package is not installed."""


_TABLES: Final[dict[str, Any]] = tomllib.loads(
    (files(__package__) / "providers.toml").read_text("utf-8")
)
_PROVIDERS: Final[Mapping[str, _Provider]] = {
    name: _Provider(**row) for name, row in _TABLES["providers"].items()
}
"""In the order in which those with a cheap model are preferred."""
_LOCAL: Final[Mapping[str, str]] = _TABLES["local"]
"""Servers that need no key, with their addresses unless NAME_BASE_URL overrides them."""


def list_key_variables() -> list[str]:
    """The variables by which providers and their servers are discovered."""
    keys = {name for provider in _PROVIDERS.values() for name in provider.keys}
    addresses = {f"{name.upper()}_BASE_URL" for name in ("openai", *_LOCAL)}
    return sorted({*keys, *addresses, MODEL_VARIABLE})


MODEL_VARIABLE: Final = "MOOT_MODEL"
"""The variable that names the platform of all seats without one, or the model to ask at OPENAI_BASE_URL."""
_ALIASES: Final[Mapping[str, str]] = {"google-gla": "google", "gemini": "google"}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared with, not bound to
_VARIABLE: Final = compile_late(r"[A-Z_][A-Z0-9_]*")
_PORTS: Final = {"http": 80, "https": 443}
_BATCHING: Final = frozenset({"vllm"})
"""Local servers that answer many requests together as fast as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A model: its provider, its name (None: the first that the server lists), and how it is asked.

    `key` names the environment variable with the key of a server given by its `url`. With token `intents` the wish to speak is
    derived from the probability of one token.
    """

    provider: str
    model: str | None = None
    url: str | None = None
    key: str | None = None
    intents: Intents = "answer"
    temperature: float | None = None

    @property
    def is_local(self) -> bool:
        return self.provider in _LOCAL or _is_loopback(self.url or "")


def is_local_server(platform: Platform) -> bool:
    """Whether a platform is a server that is known by name and needs no key, such as Ollama."""
    return platform.provider in _LOCAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKey:
    """A key, the variable that it comes from or would come from, and whether it is required."""

    variable: str | None = None
    value: str | None = None
    is_needed: bool = False


def parse_platform(text: str, others: Sequence[str] = ()) -> Platform:
    """Parse a platform text into a model; raises UnknownPlatform with what was expected."""
    head, _, options = text.strip().partition("?")
    is_address = "://" in head
    if is_address:
        # Addresses are often written with the options before the `#`.
        options, _, late = options.partition("#")
        head = f"{head}#{late}" if late else head
    if not head or any(char.isspace() or not char.isprintable() for char in text.strip()):
        raise UnknownPlatform(_explain_unknown(text, others))
    platform = (
        _parse_address_platform(head)
        if is_address
        else _parse_provider_platform(head, text, others)
    )
    for part in filter(None, options.split("&")):
        platform = _with_option(platform, *part.split("=", 1))
    if platform.key is not None and not is_address:
        raise UnknownPlatform(
            f"platform {text!r}: key=VARIABLE is for a server given by its address"
        )
    return platform


def list_keyed_providers() -> list[str]:
    """Return the providers that need a key, each once, those with a cheap model first."""
    named: dict[str, str] = {}
    for name, provider in _PROVIDERS.items():
        named.setdefault(provider.title, name)
    return list(named.values())


def list_providers() -> list[str]:
    """Return the names that may precede `:MODEL`."""
    return [*_PROVIDERS, *_LOCAL]


def find_key_variable(provider: str) -> str | None:
    """Return the environment variable that holds a provider's key; None if none is needed."""
    known = _PROVIDERS.get(_ALIASES.get(provider, provider))
    return None if known is None else known.keys[0]


def list_variables_of(provider: str) -> Sequence[str]:
    """Return the variables that may hold the key of a provider, in the order in which they are read."""
    known = _PROVIDERS.get(_ALIASES.get(provider, provider))
    return () if known is None else known.keys


def find_key(platform: Platform, environ: Mapping[str, str]) -> ProviderKey:
    """Return the key to send. A provider's key is never sent to another server."""
    if platform.provider in _PROVIDERS:
        return _find_first_key(_PROVIDERS[platform.provider].keys, environ)
    if platform.provider in _LOCAL:
        return _find_optional_key(f"{platform.provider.upper()}_API_KEY", environ)
    if platform.key is not None:
        return _find_first_key((platform.key,), environ)
    elsewhere = environ.get("OPENAI_BASE_URL", "")
    # The user pointed OPENAI_API_KEY at this very server, so its key may go there.
    if (
        elsewhere
        and platform.url is not None
        and _parse_origin(elsewhere) == _parse_origin(platform.url)
    ):
        return _find_optional_key("OPENAI_API_KEY", environ)
    return ProviderKey()


def find_address(platform: Platform, environ: Mapping[str, str]) -> str | None:
    """Return the address of the OpenAI-compatible server to ask; None if the provider's own client knows it."""
    if platform.url is not None:
        return platform.url
    if platform.provider in _LOCAL:
        return (
            environ.get(f"{platform.provider.upper()}_BASE_URL") or _LOCAL[platform.provider]
        ).rstrip("/")
    elsewhere = environ.get("OPENAI_BASE_URL", "")
    if platform.provider in {"openai", "openai-chat"} and not _is_openai(elsewhere):
        return elsewhere.rstrip("/")
    known = _PROVIDERS.get(platform.provider)
    return None if known is None else known.address


def find_compatible_address(provider: str) -> str | None:
    """Return the OpenAI-compatible address of a provider, for where its own package is not installed; None if it has none."""
    known = _PROVIDERS.get(provider)
    return None if known is None else known.compatible


def describe_model(text: str) -> str:
    """Return a model's platform as people name it: its vendor and the model; raises UnknownPlatform."""
    platform = parse_platform(text)
    titles = {name: known.title for name, known in _PROVIDERS.items()} | _TABLES["local_titles"]
    vendor = platform.url or titles[platform.provider]
    return " ".join(filter(None, (vendor, platform.model)))


def name_model(text: str, model: str) -> str:
    """Return the text of a platform without a model with this one; as it was, where the name cannot stand in such a text."""
    head, mark, options = text.strip().partition("?")
    named = f"{head}{'#' if '://' in head else ':'}{model}{mark}{options}"
    try:
        is_whole = parse_platform(named) == replace(parse_platform(text), model=model)
    except UnknownPlatform:
        is_whole = False
    return named if is_whole else text


def find_same_model(text: str, others: Sequence[str]) -> str | None:
    """Return that of the others which is the same model by another road, such as a gateway's `openai/gpt-5-mini`."""
    name = _name_alone(text)
    return next((other for other in others if name and _name_alone(other) == name), None)


def _name_alone(text: str) -> str:
    """The name of a model without the vendor that a gateway puts before it."""
    return (parse_platform(text).model or "").rpartition("/")[2].casefold()


def find_named_platform(environ: Mapping[str, str], is_known: Callable[[str], bool]) -> str | None:
    """Return the platform that MOOT_MODEL names for all seats without one; None where it is not set.

    Where OPENAI_BASE_URL is another server than OpenAI's, a name that begins with no `is_known` kind is a model of that server.
    """
    name = environ.get(MODEL_VARIABLE, "").strip()
    elsewhere = environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    head, colon, _ = name.partition(":")
    is_platform = bool(colon) and ("://" in name or is_known(_ALIASES.get(head, head)))
    if name and not is_platform and not _is_openai(elsewhere):
        return f"{elsewhere}#{name}"
    return name or None


def is_served_locally(platform: Platform, environ: Mapping[str, str]) -> bool:
    """Whether a server of this machine or of this user answers, which takes its time, and not a provider."""
    return platform.is_local or _is_loopback(find_address(platform, environ) or "")


def is_asked_one_by_one(platform: Platform, environ: Mapping[str, str]) -> bool:
    """Whether requests to its server only wait for one another there: one of them at a time is as fast."""
    return is_served_locally(platform, environ) and platform.provider not in _BATCHING


def find_local_server(platform: Platform, environ: Mapping[str, str]) -> str | None:
    """Return the host and port of a local server, one name for one server; None for any other."""
    if not is_served_locally(platform, environ):
        return None
    address = find_address(platform, environ) or ""
    parts = split_address(address)
    host = "localhost" if _is_loopback(address) else parts.hostname or ""
    return f"{host}:{parts.port or _PORTS.get(parts.scheme, 0)}"


def find_platforms(environ: Mapping[str, str]) -> list[str]:
    """Return the model platforms that the environment has keys for, the preferred one first."""
    platforms: list[str] = []
    elsewhere = environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    if not _is_openai(elsewhere) and _is_platform(elsewhere):
        platforms.append(elsewhere)
    for provider, known in _PROVIDERS.items():
        if provider == "openai" and not _is_openai(elsewhere):
            continue  # the key is that server's
        if known.cheap and _find_first_key(known.keys, environ).value is not None:
            platforms.append(f"{provider}:{known.cheap}")
    return platforms


def _parse_provider_platform(head: str, text: str, others: Sequence[str]) -> Platform:
    name, _, model = head.partition(":")
    provider = _ALIASES.get(name, name)
    if provider in _LOCAL:
        return Platform(provider=provider, model=model or None)
    if provider not in _PROVIDERS:
        raise UnknownPlatform(_explain_unknown(text, others))
    if not model:
        example = _PROVIDERS[provider].cheap or "MODEL"
        raise UnknownPlatform(
            f"platform {text!r} names no model; write {name}:MODEL, such as {name}:{example}"
        )
    return Platform(provider=provider, model=model)


def _parse_address_platform(head: str) -> Platform:
    address, _, model = head.partition("#")
    expected = "write http://HOST:PORT/v1#MODEL, or leave #MODEL off for the first model that the server lists"
    parts = split_address(address)
    has_host = bool(parts.hostname) and parts.port != 0
    if parts.username is not None or parts.password is not None:
        # Platforms are recorded and shown in errors: the text is not repeated here, because it contains the password.
        raise UnknownPlatform(
            "a platform's address may not hold a password; name the variable that holds it: …?key=VARIABLE"
        )
    if parts.scheme not in {"http", "https"} or not has_host:
        raise UnknownPlatform(f"platform {head!r} is not an address; {expected}")
    path = parts.path.rstrip("/") or "/v1"
    return Platform(
        provider=SERVER, model=model or None, url=f"{parts.scheme}://{parts.netloc}{path}"
    )


def _with_option(given: Platform, name: str, value: str = "") -> Platform:
    match name, value:
        case "intents", "token" | "answer":
            return replace(given, intents="token" if value == "token" else "answer")
        case "intents", _:
            raise UnknownPlatform(
                f"option intents={value!r}; expected intents=token or intents=answer"
            )
        case "temperature", _:
            return replace(given, temperature=_parse_temperature(value))
        case "key", _ if _VARIABLE.fullmatch(value):
            return replace(given, key=value)
        case "key", _:
            raise UnknownPlatform(
                "option key names the environment variable that holds the key, such as key=MY_KEY, not the key"
            )
        case _:
            raise UnknownPlatform(
                f"unknown option {name!r}; known: intents=token, temperature=0.2, key=VARIABLE"
            )


def _parse_temperature(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 2:
        raise UnknownPlatform(
            f"option temperature={value!r}; expected a number from 0 to 2, such as temperature=0.2"
        )
    return number


_VENDORS: Final = {
    "gpt": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "grok": "xai",
    "llama": "ollama",
    "qwen": "ollama",
}
"""Who offers models whose names begin so."""


def _explain_unknown(text: str, others: Sequence[str]) -> str:
    vendor = next(
        (vendor for begin, vendor in _VENDORS.items() if text.casefold().startswith(begin)), ""
    )
    if vendor and ":" not in text:
        return f"unknown platform {text!r}; a model stands behind its provider: {vendor}:{text}"
    known = ", ".join([*others, "http://HOST:PORT/v1#MODEL"])
    return f"unknown platform {text!r}; known: {known}, or PROVIDER:MODEL with a provider of {', '.join(list_providers())}"


def _is_platform(text: str) -> bool:
    try:
        parse_platform(text)
    except UnknownPlatform:
        return False
    return True


def _find_first_key(names: Sequence[str], environ: Mapping[str, str]) -> ProviderKey:
    for name in names:
        if value := environ.get(name, "").strip():
            return ProviderKey(variable=name, value=value, is_needed=True)
    return ProviderKey(variable=names[0], is_needed=True)


def _find_optional_key(name: str, environ: Mapping[str, str]) -> ProviderKey:
    return ProviderKey(variable=name, value=environ.get(name, "").strip() or None)


def _is_loopback(url: str) -> bool:
    return split_address(url).hostname in _LOOPBACK


def _is_openai(url: str) -> bool:
    host = _parse_origin(url.strip())[1]
    return not url.strip() or host == "openai.com" or host.endswith(".openai.com")


def _parse_origin(url: str) -> tuple[str, str, int | None]:
    parts = split_address(url)
    return parts.scheme, parts.hostname or "", parts.port
