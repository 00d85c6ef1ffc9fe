"""What to paste into a coding agent, so that it reaches a server and takes its seat."""

import json
from collections.abc import Callable

ConfigFormatter = Callable[[str, str], str]


def _claude(url: str, token: str) -> str:
    return f'claude mcp add --transport http moot {url}/mcp --header "Authorization: Bearer {token}"'


def _codex(url: str, token: str) -> str:
    return f'[mcp_servers.moot]\nurl = "{url}/mcp"\nhttp_headers = {{ Authorization = "Bearer {token}" }}\ntool_timeout_sec = 120'


def _gemini(url: str, token: str) -> str:
    server = {"httpUrl": f"{url}/mcp", "headers": _headers(token), "timeout": 120_000}
    return _json({"mcpServers": {"moot": server}})


def _opencode(url: str, token: str) -> str:
    server = {"type": "remote", "url": f"{url}/mcp", "headers": _headers(token), "enabled": True}
    return _json({"mcp": {"moot": server}})


def _cursor(url: str, token: str) -> str:
    return _json({"mcpServers": {"moot": {"url": f"{url}/mcp", "headers": _headers(token)}}})


def _vscode(url: str, token: str) -> str:
    return _json({"servers": {"moot": {"type": "http", "url": f"{url}/mcp", "headers": _headers(token)}}})


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _json(value: object) -> str:
    return json.dumps(value, indent=2)


AGENTS: dict[str, tuple[str, ConfigFormatter]] = {
    "claude": ("Claude Code, in a terminal", _claude),
    "codex": ("Codex, in ~/.codex/config.toml", _codex),
    "gemini": ("Gemini CLI, in ~/.gemini/settings.json", _gemini),
    "opencode": ("opencode, in opencode.json", _opencode),
    "cursor": ("Cursor, in .cursor/mcp.json", _cursor),
    "vscode": ("VS Code, in .vscode/mcp.json", _vscode),
}


def render_invitation(token: str, *, url: str, session: str, seat: str, agent: str | None) -> str:
    """The token, the configuration of every agent (or of one), and what to tell the agent."""
    base = url.rstrip("/")
    parts = [f"token (shown once): {token}"]
    for name, (where, recipe) in AGENTS.items():
        if agent in {None, name}:
            parts.append(f"── {where}\n{recipe(base, token)}")
    if seat:
        from moot.surfaces.mcp.instructions import JOIN

        told = JOIN.format(session=session, seat=seat, participant="")
        parts.append(f"── then tell the agent\n{told}")
    return "\n\n".join(parts)
