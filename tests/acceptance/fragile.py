"""The command `moot` in processes that kill themselves, or run many at a time. Not a test: `test_roundtable_commit.py` starts it.

    fragile.py

It begins in a process that has Moot loaded (see warm.py). Each line on standard input is a JSON list of calls (`words`,
`stdin`, `die_at`); it forks one process for each, lets all of them begin at the same moment, and answers with one JSON line:
the exit codes. A process counts its steps: each moment before and after it makes, writes, renames, links, removes, locks or
syncs a file, or changes the ledger. At step `die_at` it kills itself with SIGKILL; 0: never.
"""

import fcntl
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

from moothall.surfaces.cli.main import main

WATCHED = ("link", "replace", "rename", "fsync", "unlink", "mkdir", "fchmod", "open")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Steps:
    """Counts, and kills at the given number."""

    def __init__(self, die_at: int) -> None:
        self._left = die_at

    def taken(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        for name in WATCHED:
            setattr(os, name, self._watched(name, getattr(os, name)))
        fcntl.flock = self._watched("flock", fcntl.flock)
        connect, steps = sqlite3.connect, self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
                is_change = sql.lstrip().upper().startswith(("INSERT", "COMMIT"))
                if is_change:
                    steps.taken()
                found = super().execute(sql, *more)
                if is_change:
                    steps.taken()
                return found

        def connected(*words: Any, **more: Any) -> sqlite3.Connection:
            return connect(*words, factory=Connection, **more)

        sqlite3.connect = connected  # type: ignore[assignment]

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*words: Any, **more: Any) -> Any:
            is_look = (
                name == "open"
                and not (words[1] if len(words) > 1 else more.get("flags", 0)) & WRITING
            )
            if not is_look:
                self.taken()
            found = call(*words, **more)
            if not is_look:
                self.taken()
            return found

        return watched


def become(call: dict[str, Any], go: int) -> None:
    """Wait for the start, then be the command."""
    given, said = os.pipe()
    os.write(said, call.get("stdin", "").encode())
    os.close(said)
    os.dup2(given, 0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process lives
    os.read(go, 1)
    if call.get("die_at"):
        Steps(call["die_at"]).watch()
    code: object = 0
    try:
        main.main(call["words"], prog_name="moot")
    except SystemExit as end:
        code = end.code
    except BaseException:
        code = 99
    os._exit(code if isinstance(code, int) else 0 if code is None else 98)


def serve() -> None:
    for line in sys.stdin:
        go, gone = os.pipe()
        children = []
        for call in json.loads(line):
            child = os.fork()
            if child == 0:
                os.close(gone)
                become(call, go)
            children.append(child)
        os.close(go)
        os.close(gone)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        sys.stdout.write(json.dumps(codes) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
