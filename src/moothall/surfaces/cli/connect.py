"""`moot connect`: write Moot into a coding agent's own settings, with a command for it, so that it can be undone."""

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click

from moothall.app.environment import resolve_home
from moothall.disk.private import make_private_folder, write_atomically
from moothall.disk.text_files import parse_toml
from moothall.domain.safe_text import strip_control
from moothall.errors import BadSetting, FolderUnwritable
from moothall.memory.tokens import load_owner_key
from moothall.participants.hosts import is_loopback
from moothall.surfaces.cli import output as out
from moothall.surfaces.cli.ready import ServerUrl, describe_server
from moothall.surfaces.invitations import settings_edit
from moothall.surfaces.invitations.agent_clients import (
    CLIENTS,
    NAME,
    AgentClient,
    Door,
    Scope,
    render_yaml,
)

CONNECTIONS: Final = "connections"
"""The folder in Moot's home that holds what `--undo` needs."""


class Editor(NamedTuple):
    """How settings of one form are read, and an entry in them is set or removed."""

    parse: Callable[[str], Any]
    set: Callable[[str, tuple[str, ...], dict[str, Any]], str]
    remove: Callable[[str, tuple[str, ...]], str]


EDITORS: Final = {
    "json": Editor(
        settings_edit.parse_json, settings_edit.set_json_entry, settings_edit.remove_json_entry
    ),
    "toml": Editor(parse_toml, settings_edit.set_toml_table, settings_edit.remove_toml_table),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file before and after; None is a file that does not exist."""

    path: Path
    before: str | None
    after: str | None

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class AgentConnection:
    """A client's files in one scope, and the record of what they were before Moot changed them."""

    client: AgentClient
    key: str
    scope: Scope
    environ: Mapping[str, str]
    project: Path

    @property
    def settings(self) -> Path:
        path = self.client.find_file(self.client.settings, self.scope, self.environ, self.project)
        other = path.with_suffix(".jsonc")
        return other if path.suffix == ".json" and not path.exists() and other.exists() else path

    @property
    def command(self) -> Path | None:
        if self.scope not in self.client.command:
            return None
        return self.client.find_file(self.client.command, self.scope, self.environ, self.project)

    @property
    def folder(self) -> Path:
        mark = sha256(str(self.settings).encode()).hexdigest()[:12]
        return resolve_home(self.environ) / CONNECTIONS / f"{self.key}-{self.scope}-{mark}"

    def plan(self, door: Door) -> list[FileChange]:
        """What connecting would change; raises BadSetting where a file cannot be parsed."""
        entry, before = self.client.build_entry(door), _read(self.settings)
        after = (
            render_yaml(entry)
            if self.client.form == "yaml"
            else self._edit_entry(before or "", entry)
        )
        changes = [FileChange(path=self.settings, before=before, after=after)]
        if self.command is not None:
            changes.append(
                FileChange(
                    path=self.command, before=_read(self.command), after=self.client.command_text
                )
            )
        return changes

    def _find_entry(self, text: str) -> Any:
        value: Any = EDITORS[self.client.form].parse(text)
        for key in (*self.client.place, NAME):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _edit_entry(self, text: str, entry: Any) -> str:
        """The settings with this entry as Moot's, or with none. In their own line ends; raises BadSetting that names the file."""
        editor, keys, plain = (
            EDITORS[self.client.form],
            (*self.client.place, NAME),
            text.replace("\r\n", "\n"),
        )
        try:
            edited = editor.remove(plain, keys) if entry is None else editor.set(plain, keys, entry)
        except BadSetting as cause:
            raise BadSetting(f"{self.settings}: {cause}; nothing was changed") from cause
        return edited.replace("\n", "\r\n") if "\r\n" in text else edited

    def apply(self, changes: list[FileChange], *, is_secret: bool) -> None:
        """Keep what was there and write. Raises FolderUnwritable when a file cannot be written: none is then."""
        stored = self._load_record()
        record = []
        with _translate(self.folder):
            make_private_folder(self.folder)
        for number, change in enumerate(changes):
            known = stored.get(str(change.path))
            # Connected twice: what to go back to is still what was there before the first time.
            is_ours = known is not None and known["after"] == _digest(change.before)
            before = self._read_backup(known) if known is not None and is_ours else change.before
            backup = self.folder / f"{number}{change.path.suffix}.backup"
            if before is not None:
                _write(backup, before, is_secret=True)
            # The folders that must be made for it, the innermost first.
            missing = [str(each) for each in change.path.parents if not each.exists()]
            record.append(
                {
                    "path": str(change.path),
                    "backup": backup.name if before is not None else None,
                    "after": _digest(change.after),
                    "folders": known["folders"] if known is not None else missing,
                }
            )
        _write(self.folder / "record.json", json.dumps(record, indent=2), is_secret=True)
        _write_all(changes, is_secret=is_secret)

    def plan_undo(self) -> list[FileChange]:
        """What undoing would change; a file that changed since loses Moot's entry alone."""
        record = self._load_record()
        if not record:
            raise BadSetting(
                f"{self.client.title} was not connected here by moot connect; {self.settings} is left as it is"
            )
        changes = []
        for known in record.values():
            path = Path(known["path"])
            current, before = _read(path), self._read_backup(known)
            if current is None or _digest(current) == known["after"]:
                changes.append(
                    FileChange(
                        path=path, before=current, after=before if current is not None else None
                    )
                )
            elif path == self.settings and self.client.form != "yaml":
                earlier = self._find_entry(before) if before else None
                changes.append(
                    FileChange(path=path, before=current, after=self._edit_entry(current, earlier))
                )
            else:
                out.print_note(f"{path} was changed since; it is left as it is")
        return changes

    def undo(self, changes: list[FileChange]) -> None:
        """Write what was there before; folders that were made for it go when they are empty."""
        _write_all(changes, is_secret=False)
        for known in self._load_record().values():
            for folder in known["folders"]:
                with suppress(OSError):
                    Path(folder).rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_connected(self) -> bool:
        """Whether Moot stands in the settings, whether or not Moot wrote it."""
        text = _read(self.settings)
        if text is None or self.client.form == "yaml":
            return text is not None
        try:
            return self._find_entry(text) is not None
        except BadSetting:
            return False

    def _load_record(self) -> dict[str, dict[str, Any]]:
        text = _read(self.folder / "record.json")
        return {each["path"]: each for each in json.loads(text)} if text else {}

    def _read_backup(self, known: Mapping[str, Any]) -> str | None:
        return None if known["backup"] is None else _read(self.folder / known["backup"])


def _digest(text: str | None) -> str:
    return "" if text is None else sha256(text.encode()).hexdigest()


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as cause:
        raise BadSetting(f"{path} is not UTF-8; nothing was changed") from cause
    except OSError as cause:
        raise FolderUnwritable(f"{path} cannot be read: {cause.strerror}") from cause


@contextmanager
def _translate(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise FolderUnwritable(
            f"{path} cannot be written: {cause.strerror}; nothing was changed"
        ) from cause


def _write_all(changes: list[FileChange], *, is_secret: bool) -> None:
    for path in (change.path for change in changes):
        # A rename would replace even a file that its owner has made read-only on purpose.
        if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
            raise FolderUnwritable(f"{path} is read-only; nothing was changed")
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.is_change:
                _write(change.path, change.after, is_secret=is_secret)
                done.append(change)
    except FolderUnwritable:
        for change in done:
            with suppress(FolderUnwritable):
                _write(change.path, change.before, is_secret=is_secret)
        raise


def _write(path: Path, text: str | None, *, is_secret: bool) -> None:
    """Write or remove a file; a link is followed, the rights of a file that exists stay."""
    with _translate(path):
        if text is None:
            path.unlink(missing_ok=True)
            return
        target = path.resolve()
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        target.parent.mkdir(parents=True, exist_ok=True)
        before = os.umask(0o077) if is_secret or (mode is not None and not mode & 0o077) else None
        try:
            write_atomically(target, text)
        finally:
            if before is not None:
                os.umask(before)
        if mode is not None:
            target.chmod(mode)


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)), required=False)
@click.option(
    "--project",
    "in_project",
    is_flag=True,
    help="In the settings of the project in this folder instead of your own.",
)
@click.option(
    "--url",
    type=ServerUrl(),
    help="Reach a running `moot serve` at this address. Default: the agent starts `moot mcp` itself.",
)
@click.option(
    "--token",
    default="",
    help="With the rights of this token, from `moot invite`. Default: your own, on this machine.",
)
@click.option("--undo", is_flag=True, help="Restore what was there before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@out.json_option
def connect(
    *,
    client: str | None,
    in_project: bool,
    url: str | None,
    token: str,
    undo: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Write Moot into the settings of CLIENT, a coding agent, or undo that.

    It adds a skill or command as well, so that "ask the board whether …" works there. Shows the change
    first and asks. Other settings and comments stay as they are; a backup is stored for --undo. Without CLIENT it lists the
    clients.

    \b
    moot connect
    moot connect claude
    moot connect codex --project --yes
    moot connect gemini --url http://127.0.0.1:8760 --token TOKEN
    moot connect claude --undo
    """

    async def work() -> None:
        if client is None:
            _list_clients().print(as_json=as_json)
            return
        # `moot mcp` runs as you; a server on this machine asks for the key that says so.
        is_keyed = (
            url is not None and not token and not undo and is_loopback(urlsplit(url).hostname or "")
        )
        secret = load_owner_key(resolve_home(os.environ)) if is_keyed else token
        chosen = CLIENTS[client]
        scope: Scope = "project" if in_project or "user" not in chosen.settings else "user"
        connection = AgentConnection(chosen, client, scope, os.environ, Path.cwd())
        if undo:
            changes = connection.plan_undo()
        else:
            changes = connection.plan(
                Door.over_http(url, secret) if url else Door.over_stdio(os.environ, token)
            )
        changed = [change for change in changes if change.is_change]
        if not as_json:
            for change in changed:
                out.print_line(_render_diff(change, secret))
        if changed and not yes:
            _confirm(changed)
        if undo:
            connection.undo(changes)
        elif changed:
            connection.apply(changes, is_secret=bool(secret))
        _report(connection, changed, undo=undo).print(as_json=as_json)
        if not undo and not as_json:
            await _advise(connection, url, secret)

    out.run(work, as_json=as_json)


def _list_clients() -> out.CommandResult:
    rows = []
    for key, client in CLIENTS.items():
        for scope in client.settings:
            connection = AgentConnection(client, key, scope, os.environ, Path.cwd())
            rows.append(
                {
                    "client": key,
                    "scope": scope,
                    "settings": str(connection.settings),
                    "connected": connection.is_connected(),
                }
            )
    lines = [
        f"{row['client']:<9} {row['scope']:<8} {'connected' if row['connected'] else '-':<10} {row['settings']}"
        for row in rows
    ]
    hint = out.Note("connect one: moot connect CLIENT, or with --project for this folder's project")
    return out.CommandResult(json=rows, lines=[*lines, hint])


def _render_diff(change: FileChange, token: str) -> str:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    old = "/dev/null" if change.before is None else str(change.path)
    new = "/dev/null" if change.after is None else str(change.path)
    lines = "\n".join(unified_diff(list(before), list(after), old, new, n=2, lineterm=""))
    # The token is on nobody's screen a second time.
    return strip_control(lines.replace(token, "moot_…") if token else lines)


def _confirm(changed: list[FileChange]) -> None:
    files = ", ".join(str(change.path) for change in changed)
    if not sys.stdin.isatty():
        raise BadSetting(f"this would change {files}; confirm it with --yes")
    if not click.confirm(f"Write {files}?", err=True):
        raise BadSetting("nothing was changed")


def _report(
    connection: AgentConnection, changed: list[FileChange], *, undo: bool
) -> out.CommandResult:
    result = {
        "client": connection.key,
        "scope": connection.scope,
        "undone": undo,
        "changed": [str(change.path) for change in changed],
        "backup": None if undo else str(connection.folder),
    }
    same = f"{connection.client.title} {'is as it was' if undo else 'is connected already'}: {connection.settings}"
    lines = [
        f"{'removed' if change.after is None else 'wrote'} {change.path}" for change in changed
    ]
    return out.CommandResult(json=result, lines=lines or [same])


async def _advise(connection: AgentConnection, url: str | None, token: str) -> None:
    again = f"moot connect {connection.key}{' --project' if connection.scope == 'project' else ''} --undo"
    out.print_note(f"backup: {connection.folder}; undo it with: {again}")
    if token and connection.scope == "project":
        out.print_note(f"{connection.settings} holds a token now: do not commit it")
    if connection.client.note and connection.scope == "project":
        out.print_note(connection.client.note)
    if connection.client.stdio_note and not url:
        out.print_note(connection.client.stdio_note.strip())
    if url:
        out.print_note((await describe_server(url))[1])
    if url and not token:
        out.print_note(
            "the server asks for a token: let its owner make one (moot invite), then connect with --token"
        )
    out.print_note(f"Start {connection.client.title} anew, then say: ask the board whether …")
