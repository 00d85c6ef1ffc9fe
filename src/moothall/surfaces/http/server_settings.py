"""What a server allows: `server.toml` in Moot's home.

programs = ["claude", "/home/ada/agents/reviewer.toml"]
providers = ["ollama"]    # local model servers that callers from other machines may seat
proxies = ["127.0.0.1"]   # whose X-Forwarded-For is believed
traces = "http://127.0.0.1:4318"

[limits]                  # of each token
calls_per_second = 50

[limits.observer]         # of an observer's
calls_per_second = 5
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from moothall.app.seats import LocalServer
from moothall.codec.settings import explain_validation_error
from moothall.disk.text_files import read_toml_file
from moothall.errors import BadSetting
from moothall.surfaces.api.method import MAY, ROLES, Role

NAME: Final = "server.toml"


class CallLimits(BaseModel):
    """How much the holder of one token may ask: calls a second, after a burst of so many, each of so many bytes.

    `at_once` is how many calls, long polls and streams of it may be under way.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls_per_second: float = Field(default=500.0, gt=0, le=1e6, allow_inf_nan=False)
    burst: float = Field(default=2_000.0, ge=1, le=1e6, allow_inf_nan=False)
    largest_body: int = Field(default=1_048_576, ge=1_024, le=67_108_864)
    at_once: int = Field(default=256, ge=1, le=100_000)


WITH_FILES: Final = 16_777_216
"""The most bytes of a call of those who open sessions: it may hold files, in base64."""


def spread_limits(given: Mapping[str, Any]) -> dict[Role, CallLimits]:
    """The limits of each role: those of all, and its own in their place; raises ValidationError, BadSetting."""
    shared: dict[str, Any] = {}
    roles: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        if isinstance(value, dict):
            roles[name] = value
        else:
            shared[name] = value
    unknown = sorted(roles.keys() - set(ROLES))
    if unknown:
        raise BadSetting(
            f"limits.{unknown[0]}: no role is called so; the roles are: {', '.join(ROLES)}"
        )
    limits = {}
    for role in ROLES:
        stated = {**shared, **roles.get(role, {})}
        if "run" in MAY[role]:
            stated.setdefault("largest_body", WITH_FILES)
        limits[role] = CallLimits.model_validate(stated)
    return limits


class ServerSettings(BaseModel):
    """What a server allows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    programs: list[str] | None = None
    """Those that may be started: names of agents or recipe files; None: as the address of the server says."""
    providers: list[LocalServer] = []
    """The local model servers that callers without the home's key may seat."""
    limits: dict[Role, CallLimits] = Field(default_factory=lambda: spread_limits({}))
    proxies: list[str] = []
    """The addresses whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""
    traces: str = Field(default="", pattern="^(https?://[^/?#]+(/[^?#]*)?)?$")
    """Where spans are sent."""

    @field_validator("proxies")
    @classmethod
    def check_proxies(cls, given: list[str]) -> list[str]:
        for each in given:
            try:
                is_all = ip_network(each).prefixlen == 0
            except ValueError:
                raise ValueError(
                    f"{each!r} is not an address; write those of your proxies: 127.0.0.1, 10.0.1.0/24"
                ) from None
            # Whoever is believed chooses the address by which refused tokens are slowed down.
            if is_all:
                raise ValueError(f"{each!r} is everybody; write the addresses of your proxies")
        return given

    def select_programs(self, *, is_local: bool) -> Sequence[str] | None:
        """The programs that may be started; None: any, for a holder of the key of the home."""
        if self.programs is None and not is_local:
            return ()
        return self.programs

    @property
    def largest_body(self) -> int:
        """The most bytes that anybody may send."""
        return max(each.largest_body for each in self.limits.values())


def load_server_settings(home: Path) -> ServerSettings:
    """The settings of the servers of a home; raises BadSetting."""
    path = home / NAME
    if not path.exists():
        return ServerSettings()
    given = read_toml_file(path, str(path))
    try:
        if isinstance(given.get("limits"), dict):
            given["limits"] = spread_limits(given["limits"])
        return ServerSettings.model_validate(given)
    except ValidationError as cause:
        raise BadSetting(f"{path}: {explain_validation_error(cause, 'the settings')}") from cause
    except BadSetting as cause:
        raise BadSetting(f"{path}: {cause}") from cause
