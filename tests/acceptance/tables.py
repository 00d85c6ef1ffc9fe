"""A conference's folder as acceptance tests make it, look at it and break it."""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.acceptance.doors import Cli, Done

from moothall import Moot
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.features.roundtable.project import ConferenceProject
from moothall.features.roundtable.status import AcceptedSpeech, ConferenceStatus

T = TypeVar("T")

OLD = 600.0
"""Seconds that a file of ours is older than it is: whoever wrote it is surely done."""

MINUTES_TEXT = "## Summary\nWe spoke.\n## Consensus reached\nNone.\n## Disagreements left open\nAll.\n## Action items\nNobody: nothing.\n"


def speech(who: str, what: str = "So it is.") -> str:
    return f"## Stance\n{who}: {what}\n## Analysis\nBecause.\n## Response and questions\nWhy not?\n"


class Files:
    """A conference's folder, as whoever has nothing but an editor sees it."""

    folder: Path

    def turn(self) -> dict[str, Any]:
        found = json.loads((self.folder / "turn.json").read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    def speeches(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("[0-9][0-9][0-9]_*.md"))

    def put(self, name: str, text: str | bytes, *, is_old: bool = True) -> Path:
        """A file as an agent from outside would leave it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_symlink():
            path.chmod(0o644)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if is_old:
            aged(path)
        return path

    def put_turn(self, *, is_old: bool = True, **changed: Any) -> None:
        text = json.dumps({**self.turn(), **changed}, ensure_ascii=False, indent=2)
        self.put("turn.json", text + "\n", is_old=is_old)


class Table(Files):
    """One conference below a project's folder, through the command alone."""

    def __init__(self, cli: Cli, name: str = "cache", root: Path | None = None) -> None:
        self.cli = cli
        self.name = name
        self.root = root or cli.cwd
        self.folder = self.root / ".roundtable" / name

    def __call__(self, command: str, *words: str, code: int = 0, stdin: str = "") -> Done:
        return self.cli(
            "roundtable",
            command,
            self.name,
            *words,
            "--dir",
            str(self.root),
            code=code,
            stdin=stdin,
        )

    def json(self, command: str, *words: str, code: int = 0, stdin: str = "") -> Any:
        return json.loads(self(command, *words, "--json", code=code, stdin=stdin).out)

    def new(
        self, *roles: str, rounds: int = 2, topic: str = "Which cache?", more: tuple[str, ...] = ()
    ) -> Any:
        words = [word for role in roles or ("architect", "reviewer") for word in ("--role", role)]
        return self.json("new", topic, *words, "--rounds", str(rounds), *more)

    def say(self, role: str, text: str = "", code: int = 0, more: tuple[str, ...] = ()) -> Done:
        return self("say", "--as", role, *more, code=code, stdin=text or speech(role))

    def status(self, code: int = 0) -> Any:
        return self.json("status", code=code)

    def session(self) -> str:
        return str(self.status()["sessionId"])

    def damage(self) -> list[tuple[str, int, str]]:
        """What `check` finds: file, line, kind."""
        done = self.json("check", code=5)
        return [(each["file"], each["line"], each["kind"]) for each in done["damage"]]

    def is_sound(self) -> None:
        """Nothing is wrong, the ledger holds, and both say the same."""
        assert self("check").out in {"no faults found\n", "没有发现问题\n"}
        found = self.status()
        self.cli("verify", found["sessionId"])
        is_at_one(self, found["turnsTaken"])
        assert self.turn() == found["turn"]

    def go_on(self) -> None:
        """Speak until the minutes are written."""
        while (turn := self.turn())["status"] != "closed":
            role = turn["current_speaker"]
            self.say(role, MINUTES_TEXT if role == "moderator" else speech(role, fresh()))
        assert (self.folder / "MINUTES.md").read_text() == MINUTES_TEXT
        self.is_sound()


class Desk(Files):
    """The same through the library, in one process: for tests that do many small things. Use as a context manager."""

    def __init__(self, root: Path, name: str = "cache", home: Path | None = None) -> None:
        self.root = root
        self.name = name
        self.folder = root / ".roundtable" / name
        self._runner = asyncio.Runner()
        self._moot = Moot(environ={"MOOT_HOME": str(home or root / "home"), "HOME": str(root)})
        self.hall = ConferenceProject(self._moot, root)

    def __enter__(self) -> Self:
        self._runner.__enter__()
        self.run(self._moot.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.run(self._moot.__aexit__(kind, error, trace))
        self._runner.__exit__(kind, error, trace)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def new(self, *roles: str, rounds: int = 2, topic: str = "Which cache?") -> ConferenceStatus:
        named = [
            Seat(id=SeatId(role), platform="mailbox") for role in roles or ("architect", "reviewer")
        ]
        return self.run(
            self.hall.create_conference(self.name, topic, roles=named, max_rounds=rounds)
        )

    def say(self, role: str, text: str = "") -> AcceptedSpeech:
        return self.run(self.hall.say(self.name, role, text or speech(role, fresh())))

    def status(self) -> ConferenceStatus:
        return self.run(self.hall.status(self.name))

    def damage(self) -> list[tuple[str, int, str]]:
        return [(each.file, each.line, each.kind) for each in self.run(self.hall.check(self.name))]

    def repair(self) -> list[str]:
        return self.run(self.hall.repair(self.name))

    def is_sound(self) -> None:
        """Nothing is wrong, the ledger holds, and both say the same."""
        assert self.damage() == []
        found = self.status()
        assert self.run(self._moot.verify(found.session)) is None
        is_at_one(self, found.conference.taken)

    def go_on(self) -> None:
        """Speak until the minutes are written."""
        while (turn := self.turn())["status"] != "closed":
            role = turn["current_speaker"]
            self.say(role, MINUTES_TEXT if role == "moderator" else "")
        assert (self.folder / "MINUTES.md").read_text() == MINUTES_TEXT
        self.is_sound()


def is_at_one(files: Files, taken: int) -> None:
    """The files show as many turns as the ledger, and `turn.json` follows from them."""
    assert [int(name[:3]) for name in files.speeches()] == list(range(1, taken + 1))
    turn = files.turn()
    order = turn["speaker_order"]
    assert (turn["round"] - 1) * len(order) + turn["current_speaker_index"] == taken
    for number, name in enumerate(files.speeches()):
        assert name == f"{number + 1:03d}_{order[number % len(order)]}.md"
    assert turn["current_speaker"] == (
        order[turn["current_speaker_index"]] if turn["status"] == "open" else "moderator"
    )


def fresh() -> str:
    """Words that nobody has said."""
    return f"at {time.monotonic_ns()}"


def aged(path: Path, seconds: float = OLD) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)


def digests(folder: Path) -> set[str]:
    """The content of every file below a folder, Moot's own notes left out."""
    return {
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and ".moot" not in path.parts
        and path.name != "LOG.md"
    }


def tree(folder: Path, but: str = "") -> dict[str, str]:
    """Every name below a folder with what it is: to see that nothing outside has changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if but and name.split("/", maxsplit=1)[0] == but:
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def by_hand(
    folder: Path,
    order: list[str],
    speeches: int,
    max_rounds: int,
    agenda: str = "# By hand\n",
    **turn: Any,
) -> None:
    """A conference that nobody but an editor has touched."""
    folder.mkdir(parents=True)
    (folder / "AGENDA.md").write_text(agenda, encoding="utf-8")
    for number in range(1, speeches + 1):
        role = order[(number - 1) % len(order)]
        (folder / f"{number:03d}_{role}.md").write_text(
            speech(role, f"number {number}"), encoding="utf-8"
        )
    fields = {
        "conference": folder.name,
        "status": "open",
        "round": speeches // len(order) + 1,
        "max_rounds": max_rounds,
        "speaker_order": order,
        "current_speaker_index": speeches % len(order),
        "current_speaker": order[speeches % len(order)],
        "prompt_for_speaker": "Go on.",
        **turn,
    }
    (folder / "turn.json").write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
