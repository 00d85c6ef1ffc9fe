"""What a server allows: `server.toml` in Moot's home.

programs = ["claude", "/home/ada/agents/reviewer.toml"]

[limits]                  # of each token
calls_per_second = 50

[limits.observer]         # of an observer's
calls_per_second = 5
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moot.errors import BadSetting
from moot.surfaces.api.method import explain_validation_error
from moot.surfaces.api.rights import ROLES, Role

NAME: Final = "server.toml"


class CallLimits(BaseModel):
    """How much the holder of one token may ask: calls a second, after a burst of so many, each of so many bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls_per_second: float = Field(default=500.0, gt=0, le=1e6, allow_inf_nan=False)
    burst: float = Field(default=2_000.0, ge=1, le=1e6, allow_inf_nan=False)
    largest_body: int = Field(default=1_048_576, ge=1_024, le=67_108_864)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """`programs` are those that may be started: names of agents or recipe files; None: as the address of the server says."""

    programs: tuple[str, ...] | None = None
    limits: Mapping[Role, CallLimits] = field(default_factory=lambda: dict.fromkeys(ROLES, CallLimits()))

    def select_programs(self, *, is_local: bool) -> tuple[str, ...] | None:
        """The programs that may be started; None: any, for whoever holds the key of the home."""
        return () if self.programs is None and not is_local else self.programs

    @property
    def largest_body(self) -> int:
        """The most bytes that anybody may send."""
        return max(each.largest_body for each in self.limits.values())


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")

    programs: list[str] | None = None
    limits: dict[str, Any] = {}


def load_server_settings(home: Path) -> ServerSettings:
    """The settings of the servers of a home; raises BadSetting."""
    path = home / NAME
    try:
        form = _Form.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        shared = {name: value for name, value in form.limits.items() if not isinstance(value, dict)}
        roles = {name: value for name, value in form.limits.items() if isinstance(value, dict)}
        unknown = sorted(roles.keys() - set(ROLES))
        if unknown:
            raise BadSetting(f"{path}: limits.{unknown[0]}: no role is called so; the roles are: {', '.join(ROLES)}")
        limits = {role: CallLimits.model_validate({**shared, **roles.get(role, {})}) for role in ROLES}
    except FileNotFoundError:
        return ServerSettings()
    except ValidationError as cause:
        raise BadSetting(f"{path}: {explain_validation_error(cause)}") from cause
    except (OSError, ValueError) as cause:
        raise BadSetting(f"{path} cannot be read: {cause}") from cause
    return ServerSettings(programs=None if form.programs is None else tuple(form.programs), limits=limits)
