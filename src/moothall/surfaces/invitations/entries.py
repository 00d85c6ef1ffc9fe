"""What to paste into a coding agent, so that it reaches Moot and takes its seat."""

import asyncio
import json
import shlex
import urllib.error
import urllib.request
from datetime import timedelta
from typing import Any, Final, Literal

from moothall.domain.facts import Language
from moothall.locale.catalogues import INVITATION
from moothall.surfaces.invitations.agent_clients import ALL_CLIENTS, CLIENTS, NAME, AgentClient, Door
from moothall.surfaces.invitations.settings_edit import set_toml_table

PROBE_SECONDS: Final = 2.0
INVITE_TICKET: Final = timedelta(days=1)
"""How long the link of an invitation can be opened; after that the token itself can be pasted at /login."""


def build_login_link(url: str, ticket: str, place: str = "/") -> str:
    """A link that signs a browser in. The ticket stands in the fragment, which browsers neither send nor pass on."""
    return f"{url.rstrip('/')}{place}#ticket={ticket}"


def render_invitation(token: str, door: Door, prompt: str, *, agent: str | None, serving: str = "", link: str = "") -> str:
    """The token, a link for a browser, the configuration of every agent (or of one), and what to tell the agent."""
    parts = [f"token (shown once): {token}"]
    if serving:
        parts.append(serving)
    if link and agent is None:
        here = "; on this machine: elsewhere it needs `moot serve --host` and --url" if "//127.0.0.1" in link else ""
        parts.append(f"── in a browser (the link works once, within a day{here})\n{link}")
    chosen = {agent: ALL_CLIENTS[agent]} if agent else CLIENTS
    for key, client in chosen.items():
        # Beside the title: what stands below it is copied whole.
        notes = "".join(f" ({note})" for note in client.list_notes(door))
        parts.append(f"── {_render_title(key, client)}{notes}\n{render_entry(key, client, door)}")
    if agent is None:
        parts.append(f"── with --for also: {', '.join(sorted(ALL_CLIENTS.keys() - CLIENTS.keys()))}")
    if prompt:
        parts.append(f"── then tell the agent\n{prompt}")
        parts.append(f"── or without a terminal\n{_render_headless(chosen, prompt)}")
    return "\n\n".join(parts)


def _render_title(key: str, client: AgentClient) -> str:
    if key == "claude":
        return "Claude Code, in a terminal"
    if client.where:
        return f"{client.title}, in {client.where}"
    where = client.settings.get("project") if key in {"opencode", "cursor", "vscode", "continue"} else None
    # Where a folder can be moved by a variable, its usual place is named.
    usual = (where or client.settings["user"]).replace("CODEX/", "~/.codex/").replace("COPILOT/", "~/.copilot/")
    return f"{client.title}, in {usual}"


def render_entry(key: str, client: AgentClient, door: Door) -> str:
    """Moot's entry as that client's settings have it; for Claude Code the command that adds it."""
    if key == "claude":
        return _render_claude_command(door)
    entry = client.build_entry(door)
    if client.form == "toml":
        return set_toml_table("", (*client.place, NAME), entry).strip()
    if client.form == "yaml":
        return (_render_yaml_map(client.place[0], entry) if client.place else render_yaml(entry)).strip()
    value: Any = {NAME: entry}
    for name in reversed(client.place):
        value = {name: value}
    return json.dumps(value, indent=2, ensure_ascii=False)


def render_yaml(entry: dict[str, Any]) -> str:
    """A block of Continue's with one server; its values are JSON, which YAML takes."""
    first, *rest = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
    lines = [f"  - {first}", *(f"    {line}" for line in rest)]
    return "\n".join(["name: Moot", "version: 0.0.1", "schema: v1", "mcpServers:", *lines]) + "\n"


def _render_yaml_map(place: str, entry: dict[str, Any]) -> str:
    lines = (f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
    return "\n".join([f"{place}:", f"  {NAME}:", *lines])


def _render_claude_command(door: Door) -> str:
    if door.is_http:
        header = f' --header "Authorization: Bearer {door.token}"' if door.token else ""
        return f"claude mcp add --transport http {NAME} {shlex.quote(door.url)}{header}"
    environ = "".join(f" -e {shlex.quote(f'{name}={value}')}" for name, value in door.environ.items())
    return f"claude mcp add {NAME}{environ} -- {shlex.quote(door.program)} mcp"


def _render_headless(chosen: dict[str, AgentClient], prompt: str) -> str:
    """For one agent the whole command line; for all of them how they begin, PROMPT being the text above."""
    if len(chosen) == 1:
        (client,) = chosen.values()
        return client.build_headless(prompt) or f"{client.title} has no such way: open its chat in agent mode"
    return "\n".join(client.headless_pattern for client in chosen.values() if client.headless)


async def describe_server(url: str) -> str:
    """Whether a server answers at an address: really asked."""
    if await is_serving(url):
        return f"moot serve answers at {url}"
    return f"nothing answers at {url} now: start it there with `moot serve`, and keep it running"


async def is_serving(url: str) -> bool:
    """Whether Moot answers at an address, within a moment."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await asyncio.to_thread(_probe, f"{url.rstrip('/')}/healthz")
    except TimeoutError:
        return False


def _probe(address: str) -> bool:
    if not address.startswith(("http://", "https://")):
        return False
    try:
        with urllib.request.urlopen(address, timeout=PROBE_SECONDS) as response:  # noqa: S310 - the scheme is checked above
            return bool(json.load(response) == {"status": "ok"})
    except (OSError, ValueError):
        return False


SessionKind = Literal["deliberation", "meeting", "swarm", "conference"]
"""By which tools participants from outside take part. A `meeting` is a session of any other protocol."""

_ARGUMENTS: Final[dict[SessionKind, tuple[str, str]]] = {
    "deliberation": ("deliberationId", "participant"),
    "meeting": ("sessionId", "seat"),
    "swarm": ("sessionId", "seat"),
    "conference": ("conference", "role"),
}


def build_join_prompt(
    kind: SessionKind, language: Language, *, session: str, seat: str, has_token: bool, has_consultations: bool = False
) -> str:
    """The instructions by which an agent takes its seat. With a seat's token the tools know session and seat themselves."""
    words = INVITATION[language]
    first, second = _ARGUMENTS[kind]
    steps = words.steps[kind].format(
        with_session="" if has_token else words.with_session.format(name=first, session=session),
        with_seat="" if has_token else words.with_seat.format(name=first, session=session, seat_name=second, seat=seat),
    )
    more = words.consulted if has_consultations else ""
    return words.frame.format(seat=seat, kind=words.kinds[kind], session=session, steps=steps + more)
