"""The coding agents that Moot knows: where each keeps its MCP servers and commands, in which form, and how it runs headless."""

import json
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from moothall.errors import BadSetting
from moothall.participants.platforms import list_key_variables

NAME: Final = "moot"

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
        return cls(
            program=_find_program(), environ=given, passed=tuple(name for name in list_key_variables() if environ.get(name))
        )

    @property
    def is_http(self) -> bool:
        return bool(self.url)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def _find_program() -> str:
    """The command `moot` with its whole path: an agent may have another PATH."""
    beside = Path(sys.executable).with_name("moot")
    return str(beside) if beside.exists() else shutil.which("moot") or "moot"


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
        return [each.strip() for each in (self.note, "" if door.is_http else self.stdio_note) if each]

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

    def find_file(self, files: Mapping[Scope, str], scope: Scope, environ: Mapping[str, str], project: Path) -> Path:
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
    return [_fill(each, values) for each in template] if isinstance(template, list) else values.get(template, template)


def _load_clients() -> dict[str, AgentClient]:
    folder = files(__package__)
    clients, texts = (tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in ("clients", "command_texts"))
    for each in clients.values():
        form = texts["forms"][each.setdefault("command_text", "plain")]
        each["command_text"] = form.replace("WHEN", json.dumps(texts["when"])).replace("HOW", texts["how"])
    return {key: AgentClient(**each) for key, each in clients.items()}


ALL_CLIENTS: Final = _load_clients()
"""Every client that an invitation can be printed for."""
CLIENTS: Final = {key: client for key, client in ALL_CLIENTS.items() if client.settings}
"""Those whose files `moot connect` writes."""
