"""The coding agents that Moot knows: where each keeps its servers and commands, how it runs headless, what to paste into it."""

import json
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from moothall.domain.facts import Language
from moothall.domain.safe_text import is_web_address, split_address
from moothall.errors import BadSetting
from moothall.locale.catalogues import INVITATION
from moothall.participants.platforms import list_key_variables
from moothall.surfaces.invitations.settings_edit import set_toml_table

NAME: Final = "moot"
INVITE_TICKET: Final = timedelta(days=1)
"""How long the link of an invitation can be opened; after that the token itself can be pasted at /login."""

Scope = Literal["user", "project"]
Format = Literal["json", "toml", "yaml"]
"""JSON may have comments; a YAML file is Moot's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """How an agent reaches Moot: a server's address, or a program that it starts."""

    url: str = ""
    token: str = ""
    program: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    """Variables that the program needs from its environment, such as keys of model providers."""

    @classmethod
    def over_http(cls, url: str, token: str = "") -> "Door":
        return cls(url=f"{url.rstrip('/')}/mcp", token=token)

    @classmethod
    def over_stdio(cls, environ: Mapping[str, str], token: str = "") -> "Door":
        """`moot mcp` of this installation on this ledger."""
        given = {"MOOT_TOKEN": token} if token else {}
        given |= {name: environ[name] for name in ("MOOT_HOME", "MOOT_LEDGER") if environ.get(name)}
        # The whole path of the command `moot`: an agent may have another PATH.
        beside = Path(sys.executable).with_name("moot")
        program = str(beside) if beside.exists() else shutil.which("moot") or "moot"
        return cls(
            program=program,
            environ=given,
            passed=tuple(name for name in list_key_variables() if environ.get(name)),
        )

    @property
    def is_http(self) -> bool:
        return bool(self.url)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentClient:
    """One coding agent.

    `settings` and `command` are the files of each scope that it knows; `place` is where servers stand in the settings; `http` and
    `stdio` are templates of Moot's entry there; `command_text` is its skill or command; `headless` the command line without a
    terminal.
    """

    title: str
    place: Sequence[str]
    http: Mapping[str, Any]
    stdio: Mapping[str, Any]
    settings: Mapping[Scope, str] = field(default_factory=dict)
    headless: Sequence[str] = ()
    command: Mapping[Scope, str] = field(default_factory=dict)
    command_text: str = "plain"
    form: Format = "json"
    where: str = ""
    """Where to paste the entry, for a client whose files Moot does not write."""
    note: str = ""
    stdio_note: str = ""
    """What to know where the client starts `moot mcp` itself."""

    def list_notes(self, door: Door) -> list[str]:
        """What to know of this client's entry."""
        return [
            each.strip() for each in (self.note, "" if door.is_http else self.stdio_note) if each
        ]

    def build_entry(self, door: Door) -> dict[str, Any]:
        """Moot's entry among this client's servers."""
        values = {
            "{url}": door.url,
            "{headers}": door.headers,
            "{program}": door.program,
            "{environ}": dict(door.environ),
            "{passed}": list(door.passed),
            "{whole_environ}": {**door.environ, **{name: f"${name}" for name in door.passed}},
        }
        entry: dict[str, Any] = _fill(self.http if door.is_http else self.stdio, values)
        return entry

    def find_file(
        self, files: Mapping[Scope, str], scope: Scope, environ: Mapping[str, str], project: Path
    ) -> Path:
        """The file of a scope; raises BadSetting where this client has none."""
        if scope not in files:
            known = " or ".join(f"--{each}" for each in files)
            raise BadSetting(f"{self.title} has no settings of its own for a {scope}; use {known}")
        if scope == "project":
            return project / files[scope]
        return _expand(files[scope], environ)

    def build_headless(self, prompt: str) -> str:
        """The command line that gives the agent this prompt, for a shell."""
        return shlex.join(prompt if word == "PROMPT" else word for word in self.headless)

    @property
    def headless_pattern(self) -> str:
        return " ".join(word if word == "PROMPT" else shlex.quote(word) for word in self.headless)


def _expand(path: str, environ: Mapping[str, str]) -> Path:
    """A path that begins with `NAME/`, the folder of one of the clients."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or str(Path.home())
    folders = {
        "CLAUDE": environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude",
        # By default this file stands beside the folder, with CLAUDE_CONFIG_DIR in it.
        "CLAUDE_JSON": environ.get("CLAUDE_CONFIG_DIR") or home,
        "CODEX": environ.get("CODEX_HOME") or f"{home}/.codex",
        "COPILOT": environ.get("COPILOT_HOME") or f"{home}/.copilot",
        "CONFIG": environ.get("XDG_CONFIG_HOME") or f"{home}/.config",
        "VSCODE": _find_vscode(home, environ),
        "~": home,
    }
    first, _, rest = path.partition("/")
    return Path(folders[first]) / rest


def _find_vscode(home: str, environ: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return f"{home}/Library/Application Support/Code/User"
    if sys.platform == "win32":
        return f"{environ.get('APPDATA', home)}/Code/User"
    return f"{environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/Code/User"


def _fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its placeholders replaced; what is empty then is left out."""
    if isinstance(template, dict):
        filled = {name: _fill(each, values) for name, each in template.items()}
        return {name: each for name, each in filled.items() if each not in ({}, [])}
    return (
        [_fill(each, values) for each in template]
        if isinstance(template, list)
        else values.get(template, template)
    )


def _load_clients() -> dict[str, AgentClient]:
    folder = files(__package__)
    clients, texts = (
        tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
        for name in ("clients", "command_texts")
    )
    for each in clients.values():
        form = texts["forms"][each.setdefault("command_text", "plain")]
        each["command_text"] = form.replace("WHEN", json.dumps(texts["when"])).replace(
            "HOW", texts["how"]
        )
    return {key: AgentClient(**each) for key, each in clients.items()}


ALL_CLIENTS: Final = _load_clients()
"""Every client that an invitation can be printed for."""
CLIENTS: Final = {key: client for key, client in ALL_CLIENTS.items() if client.settings}
"""Those whose files `moot connect` writes."""


def parse_server_url(url: str) -> str:
    """An address that links and settings may begin with. Raises BadSetting for any other."""
    parts = split_address(url)
    if (
        not is_web_address(url)
        or parts.query
        or parts.fragment
        or any(char in url for char in "\"'<>\\`$")
    ):
        raise BadSetting(
            f"{url[:100]!r} is not the address of a server; expected something like http://127.0.0.1:8760"
        )
    return url.rstrip("/")


def build_login_link(url: str, ticket: str, place: str = "/") -> str:
    """A link that signs a browser in. The ticket stands in the fragment, which browsers neither send nor pass on."""
    return f"{url.rstrip('/')}{place}#ticket={ticket}"


def render_invitation(
    token: str, door: Door, prompt: str, *, agent: str | None, serving: str = "", link: str = ""
) -> str:
    """The token, a link for a browser, the configuration of every agent (or of one), and what to tell the agent."""
    parts = [f"token (shown once): {token}"]
    if serving:
        parts.append(serving)
    if link and agent is None:
        here = (
            "; on this machine: elsewhere it needs `moot serve --host` and --url"
            if "//127.0.0.1" in link
            else ""
        )
        parts.append(f"── in a browser (the link works once, within a day{here})\n{link}")
    chosen = {agent: ALL_CLIENTS[agent]} if agent else CLIENTS
    for key, client in chosen.items():
        # Beside the title: what stands below it is copied whole.
        notes = "".join(f" ({note})" for note in client.list_notes(door))
        parts.append(f"── {_render_title(key, client)}{notes}\n{render_entry(key, client, door)}")
    if agent is None:
        parts.append(
            f"── with --for also: {', '.join(sorted(ALL_CLIENTS.keys() - CLIENTS.keys()))}"
        )
    if prompt:
        parts.append(f"── then tell the agent\n{prompt}")
        parts.append(f"── or without a terminal\n{_render_headless(chosen, prompt)}")
    return "\n\n".join(parts)


def _render_title(key: str, client: AgentClient) -> str:
    if key == "claude":
        return "Claude Code, in a terminal"
    if client.where:
        return f"{client.title}, in {client.where}"
    where = (
        client.settings.get("project")
        if key in {"opencode", "cursor", "vscode", "continue"}
        else None
    )
    # Where a folder can be moved by a variable, its usual place is named.
    usual = (
        (where or client.settings["user"])
        .replace("CODEX/", "~/.codex/")
        .replace("COPILOT/", "~/.copilot/")
    )
    return f"{client.title}, in {usual}"


def render_entry(key: str, client: AgentClient, door: Door) -> str:
    """Moot's entry as that client's settings have it; for Claude Code the command that adds it."""
    if key == "claude":
        return _render_claude_command(door)
    entry = client.build_entry(door)
    if client.form == "toml":
        return set_toml_table("", (*client.place, NAME), entry).strip()
    if client.form == "yaml":
        if not client.place:
            return render_yaml(entry).strip()
        lines = (
            f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()
        )
        return "\n".join([f"{client.place[0]}:", f"  {NAME}:", *lines])
    value: Any = {NAME: entry}
    for name in reversed(client.place):
        value = {name: value}
    return json.dumps(value, indent=2, ensure_ascii=False)


def render_yaml(entry: dict[str, Any]) -> str:
    """A block of Continue's with one server; its values are JSON, which YAML takes."""
    first, *rest = (
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()
    )
    lines = [f"  - {first}", *(f"    {line}" for line in rest)]
    return "\n".join(["name: Moot", "version: 0.0.1", "schema: v1", "mcpServers:", *lines]) + "\n"


def _render_claude_command(door: Door) -> str:
    if door.is_http:
        header = f' --header "Authorization: Bearer {door.token}"' if door.token else ""
        return f"claude mcp add --transport http {NAME} {shlex.quote(door.url)}{header}"
    environ = "".join(
        f" -e {shlex.quote(f'{name}={value}')}" for name, value in door.environ.items()
    )
    return f"claude mcp add {NAME}{environ} -- {shlex.quote(door.program)} mcp"


def _render_headless(chosen: dict[str, AgentClient], prompt: str) -> str:
    """For one agent the whole command line; for all of them how they begin, PROMPT being the text above."""
    if len(chosen) == 1:
        (client,) = chosen.values()
        return (
            client.build_headless(prompt)
            or f"{client.title} has no such way: open its chat in agent mode"
        )
    return "\n".join(client.headless_pattern for client in chosen.values() if client.headless)


_ARGUMENTS: Final[dict[str, tuple[str, str]]] = {
    "deliberation": ("deliberationId", "participant"),
    "meeting": ("sessionId", "seat"),
    "swarm": ("sessionId", "seat"),
    "conference": ("conference", "role"),
}
"""What the tools for a kind of session (`JoinGuide`) call the session and the seat."""
JOIN_KINDS: Final = frozenset(_ARGUMENTS)


def build_join_prompt(
    kind: str,
    language: Language,
    *,
    session: str,
    seat: str,
    has_token: bool,
    has_consultations: bool = False,
) -> str:
    """The instructions by which an agent takes its seat. With a seat's token the tools know session and seat themselves."""
    words = INVITATION[language]
    first, second = _ARGUMENTS[kind]
    steps = words.steps[kind].format(
        with_session="" if has_token else words.with_session.format(name=first, session=session),
        with_seat=""
        if has_token
        else words.with_seat.format(name=first, session=session, seat_name=second, seat=seat),
    )
    more = words.consulted if has_consultations else ""
    return words.frame.format(
        seat=seat, kind=words.kinds[kind], session=session, steps=steps + more
    )
