"""`moot access tools`: which MCP tools each role is shown, and what they cost an agent to read."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from moothall.surfaces.api import toolsets
from moothall.surfaces.api.decisions import build_decision_schema
from moothall.surfaces.api.method import MAY, ROLES, Role
from moothall.surfaces.api.methods import TABLE
from moothall.surfaces.cli import output as out


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTools:
    """What one role is shown."""

    role: str
    count: int
    tokens: int
    tools: tuple[str, ...]


_SESSIONS: dict[str, str] = {
    "deliberation": "a debate, advisory panel or consensus",
    "meeting": "a persona meeting, roundtable, pipeline or consultation",
    "swarm": "a swarm",
    "conference": "a conference in files",
}


def list_roles() -> Iterator[RoleTools]:
    """Every role with its tools, then all tools together."""
    for kind, title in _SESSIONS.items():
        for has_consultations, more in ((False, ""), (True, ", with consultations")):
            names = toolsets.select_seat_tools(kind, has_consultations=has_consultations)
            yield _measure(f"seat of {title}{more}", names, "seat")
    yield _measure("owner", toolsets.ROLE_TOOLS["owner"])
    yield from (
        _measure(f"owner of {title}", toolsets.SESSION_OWNER_TOOLS[kind])
        for kind, title in _SESSIONS.items()
    )
    yield _measure("operator", toolsets.ROLE_TOOLS["operator"])
    yield _measure("recorder", toolsets.ROLE_TOOLS["recorder"])
    yield _measure("agent that decides under its own name", toolsets.ROLE_TOOLS["agent"], "agent")
    yield _measure("observer", toolsets.ROLE_TOOLS["observer"])
    yield from (
        _measure(f"observer of {title}", toolsets.SESSION_OBSERVER_TOOLS[kind])
        for kind, title in _SESSIONS.items()
    )
    yield _measure("all tools (moot mcp --all-tools, /mcp?tools=all)", toolsets.ALL_TOOLS)


def _measure(title: str, names: tuple[str, ...], role: Role = "local") -> RoleTools:
    tokens = toolsets.estimate_tokens(toolsets.describe_tools(names, role))
    return RoleTools(role=title, count=len(names), tokens=tokens, tools=names)


def render_rights() -> str:
    """Who may make which call, as a table of Markdown: a seat only in its own session."""
    roles = [role for role in ROLES if role != "local"]
    lines = [f"| call | {' | '.join(roles)} |", f"|---|{'---|' * len(roles)}"]
    for name, method in TABLE.items():
        allowed = (
            method.needs in MAY[role] and (role != "seat" or method.serves_seats) for role in roles
        )
        lines.append(f"| `{name}` | {' | '.join('yes' if each else '' for each in allowed)} |")
    return "\n".join(lines)


@click.command()
@click.option("--rights", is_flag=True, help="Print instead which role may make which call.")
@out.json_command
async def tools(rights: bool) -> out.CommandResult:
    """List the MCP tools of each role, and their tokens.

    Tokens are what an agent reads before its first call, estimated: one for every four characters of names, descriptions and
    schemas.

    \b
    moot access tools
    moot access tools --rights
    """
    if rights:
        calls = {name: method.needs for name, method in TABLE.items()}
        return out.CommandResult(
            json={role: sorted(MAY[role]) for role in ROLES} | {"calls": calls},
            lines=[render_rights()],
        )
    roles = list(list_roles())
    return out.CommandResult(json=roles, lines=_describe_roles(roles))


@click.command()
def schema() -> None:
    """Print the JSON schema of a decision as `--json` prints it, for programs that read it.

    \b
    moot decisions schema > decision.schema.json
    """
    out.print_json(build_decision_schema())


def _describe_roles(roles: list[RoleTools]) -> Iterator[str]:
    yield "tools  tokens  role"
    for each in roles:
        yield f"{each.count:>5}  {each.tokens:>6,}  {each.role}"
        if each.tools != toolsets.ALL_TOOLS:
            yield f"               {' '.join(each.tools)}"
    yield out.Note(f"limits for a role: {toolsets.MAX_TOOLS} tools, {toolsets.MAX_TOKENS:,} tokens")
