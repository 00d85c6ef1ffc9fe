"""The public doors as acceptance tests use them: the command in its own process, scripts, participants of a test's own."""

import asyncio
import atexit
import errno
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest

from moothall import Moot, Seat
from moothall.app.seats import Seating
from moothall.domain.causes import Cause
from moothall.domain.effects import Brief
from moothall.memory.tokens import load_owner_key
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant

SCENES = Path(__file__).parent / "scenes"
LAYOFFS = SCENES / "layoffs.toml"
MOOT = Path(sys.executable).with_name("moot")
DEADLINE = 120.0
STARTING_SECONDS = 400.0

T = TypeVar("T")
Item = Mapping[str, Any]
Script = Mapping[str, Mapping[str, Sequence[Item]]]


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str


class Cli:
    """The command `moot` with a home of its own. Inherits no key and no setting from whoever runs the tests."""

    def __init__(self, home: Path, cwd: Path, **environ: str) -> None:
        self.home = home
        self.cwd = cwd
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(cwd),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "MOOT_HOME": str(home),
            "MOOT_CONFIG": os.devnull,
            "PAGER": "cat",
            **environ,
        }

    def __call__(self, *words: str, code: int | None = 0, stdin: str = "") -> Done:
        """Run to the end in a process of its own (see warm.py); the code must be the expected one, if there is one."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode())
            given.seek(0)
            found = _warm().run(
                words, self.environ, self.cwd, [given.fileno(), out.fileno(), err.fileno()]
            )
            out.seek(0)
            err.seek(0)
            done = Done(found, out.read().decode(), err.read().decode())
        return _checked(words, done, code)

    def fresh(self, *words: str, code: int = 0) -> Done:
        """Run the installed script to the end."""
        done = subprocess.run(
            [str(MOOT), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environ,
            cwd=self.cwd,
            timeout=DEADLINE,
            check=False,
        )
        return _checked(
            words, Done(done.returncode, done.stdout.decode(), done.stderr.decode()), code
        )

    def json(self, *words: str, code: int = 0) -> Any:
        """What the command prints with --json."""
        return json.loads(self(*words, "--json", code=code).out)

    def verify(self, *words: str, code: int = 0) -> dict[str, Any]:
        """What `verify` says is wrong, by session; None where nothing is, and the ledger's own fault under no name."""
        found = self.json("verify", *words, code=code)
        whole = {"": "; ".join(found["faults"])} if found.get("faults") else {}
        return {
            **whole,
            **{each["sessionId"]: each.get("fault") for each in found.get("sessions", [found])},
        }

    def start(self, *words: str) -> "Running":
        """Run beside the test."""
        return Running(self.spawn(words))

    def spawn(self, words: Sequence[str], log: IO[bytes] | None = None) -> "Process":
        """Run beside the test, in a process of its own (see warm.py); what it says of itself goes to the log, if there is one."""
        return _warm().start(words, self.environ, self.cwd, log)

    def spawn_program(self, program: Path, *words: str, **environ: str) -> "Process":
        """Run a Python file beside the test, in a process that has Moot loaded (see warm.py)."""
        return _warm().start(words, {**self.environ, **environ}, self.cwd, None, program)

    def converse(self, *words: str, **environ: str) -> "Process":
        """As `spawn`, with an input that the test writes."""
        return self._converse(words, {**self.environ, **environ}, None)

    def converse_with_program(self, program: Path, *words: str) -> "Process":
        """As `spawn_program`, with an input that the test writes."""
        return self._converse(words, self.environ, program)

    def _converse(
        self, words: Sequence[str], environ: Mapping[str, str], program: Path | None
    ) -> "Process":
        read, write = os.pipe()
        try:
            process = _warm().start(words, environ, self.cwd, None, program, given=read)
        finally:
            os.close(read)
        process.stdin = os.fdopen(write, "wb")
        return process

    def elsewhere(self, home: str) -> "Cli":
        """The command with another home."""
        return Cli(self.cwd / home, self.cwd)

    @property
    def key(self) -> str:
        """The key of the home, with which its owner calls a server."""
        return load_owner_key(self.home)

    def moot(self) -> Moot:
        """The library on the same home."""
        return Moot(environ=self.environ)


class _Warm:
    """Runs commands in forks of one process that has loaded Moot; see warm.py."""

    def __init__(self) -> None:
        atexit.register(self._close)
        # Loading all of Moot is a minute's work on a busy machine, and no part of any command.
        end = time.monotonic() + STARTING_SECONDS
        while not self._connect():
            assert time.monotonic() < end, "the process that runs commands does not start"
            time.sleep(0.02)
        self._link.settimeout(DEADLINE)

    def _connect(self) -> bool:
        """Whether it is reached: all workers of a run have one, which the first of them starts and the last one's end ends."""
        path = _name_warm_socket()
        self._link = socket.socket(socket.AF_UNIX)
        self._link.settimeout(STARTING_SECONDS)
        try:
            self._link.connect(str(path))
            # Nothing comes if it was about to end.
            if self._link.recv(6) == b"ready\n":
                return True
        except FileNotFoundError:
            start_warm_process()
        except ConnectionError:
            # Another worker is about to start it, or it could not load.
            if any(process.poll() for process in _STARTED):
                path.unlink()
                raise
        self._link.close()
        return False

    def run(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        cwd: Path,
        files: Sequence[int],
        program: Path | None = None,
        *,
        is_terminal: bool = False,
    ) -> int:
        """The exit code of a command with these standard streams."""
        told = {
            "words": [os.fsencode(word).hex() for word in words],
            "environ": dict(environ),
            "cwd": str(cwd),
            "program": str(program or ""),
            "terminal": is_terminal,
        }
        request = json.dumps(told).encode()
        socket.send_fds(self._link, [f"{len(request):16d}".encode()], files)
        self._link.sendall(request)
        return int(self._link.recv(16))

    def start(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        cwd: Path,
        log: IO[bytes] | None,
        program: Path | None = None,
        given: int | None = None,
    ) -> "Process":
        """A command that runs beside the test."""
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        told, told_end = socket.socketpair()
        with Path(os.devnull).open("rb") as nothing, told_end:
            source = nothing.fileno() if given is None else given
            files = [source, out_end, err_end if log is None else log.fileno(), told_end.fileno()]
            try:
                assert self.run(words, environ, cwd, files, program) == 0
            finally:
                os.close(out_end)
                os.close(err_end)
        return Process(told, os.fdopen(out, "rb", 0), os.fdopen(err, "rb", 0))

    def start_in_terminal(
        self, words: Sequence[str], environ: Mapping[str, str], cwd: Path, slave: int
    ) -> "Process":
        """A command that runs beside the test, in a session of its own with this terminal."""
        told, told_end = socket.socketpair()
        with told_end:
            assert (
                self.run(
                    words, environ, cwd, [slave, slave, slave, told_end.fileno()], is_terminal=True
                )
                == 0
            )
        return Process(told, None, None)

    def _close(self) -> None:
        self._link.close()
        # Other workers may still need it.
        if "PYTEST_XDIST_TESTRUNUID" not in os.environ:
            for process in _STARTED:
                process.wait(timeout=DEADLINE)


@cache
def _warm() -> _Warm:
    return _Warm()


@cache
def _name_warm_socket() -> Path:
    """A name that no run had before: one that was killed leaves its socket."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}-{time.time_ns()}")
    return Path(tempfile.gettempdir()) / f"moot-warm-{run}"


_STARTED: list["subprocess.Popen[bytes]"] = []


def start_warm_process() -> None:
    """Start the process that runs commands, unless another worker has begun to."""
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.bind(str(_name_warm_socket()))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return
        door.listen()
        environ = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}
        words = [sys.executable, str(Path(__file__).with_name("warm.py")), str(door.fileno())]
        _STARTED.append(subprocess.Popen(words, env=environ, pass_fds=[door.fileno()]))


def _checked(words: Sequence[str], done: Done, code: int | None) -> Done:
    assert code is None or done.code == code, (words, done)
    assert "Traceback" not in done.err, done.err
    return done


class Process:
    """A command that runs beside the test, with the methods of `subprocess.Popen` that the tests use."""

    def __init__(
        self, told: socket.socket, stdout: IO[bytes] | None, stderr: IO[bytes] | None
    ) -> None:
        self.stdin: IO[bytes] | None = None
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._lock = threading.Lock()
        told.settimeout(DEADLINE)
        self._told = told.makefile("rb")
        self._link = told
        self.pid = int(self._told.readline())

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._link], [], [], 0)[0]:
                self._take_code()
            return self.returncode

    def wait(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("moot", timeout)
            # Another thread that asks may take the code first, and close the link.
            with suppress(OSError, ValueError):
                select.select([self._link], [], [], 0.1)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Close its input: all that it still says, and its end."""
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.close()
        end = time.monotonic() + timeout
        found: dict[IO[bytes], bytes] = {
            file: b"" for file in (self.stdout, self.stderr) if file is not None and not file.closed
        }
        is_open = list(found)
        while is_open:
            ready, _, _ = select.select(is_open, [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired("moot", timeout)
            for file in ready:
                if piece := os.read(file.fileno(), 65_536):
                    found[file] += piece
                else:
                    is_open.remove(file)
        self.wait(max(0.0, end - time.monotonic()))
        for file in found:
            file.close()
        return tuple(
            b"" if file is None else found.get(file, b"") for file in (self.stdout, self.stderr)
        )  # type: ignore[return-value]

    def _take_code(self) -> None:
        self.returncode = int(self._told.readline())
        self._told.close()
        self._link.close()


class Running:
    """A command that is under way; ended, at the latest, with the test."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._seen = b""

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=DEADLINE)

    def wait_for(self, text: str) -> None:
        """Until the text has been printed."""
        assert self.process.stdout is not None
        until = time.monotonic() + DEADLINE
        while text.encode() not in self._seen:
            ready, _, _ = select.select(
                [self.process.stdout], [], [], max(0.0, until - time.monotonic())
            )
            assert ready, f"{text!r} did not come: {self._seen.decode()}"
            piece = os.read(self.process.stdout.fileno(), 65_536)
            assert piece, f"ended before {text!r} came: {self._seen.decode()}"
            self._seen += piece

    def ended(self) -> Done:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=DEADLINE)
        assert self.process.returncode is not None
        return Done(self.process.returncode, (self._seen + out).decode(), err.decode())


class Terminal:
    """The command in a terminal of its own, with its start behind it (see warm.py)."""

    def __init__(self, cli: Cli, *words: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        try:
            self.process = _warm().start_in_terminal(
                words, {**cli.environ, "TERM": "xterm-256color"}, cli.cwd, slave
            )
        finally:
            os.close(slave)
        self.raw = b""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=DEADLINE)
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> None:
        """Until the text has been written."""
        end = time.monotonic() + DEADLINE
        while text.encode() not in self.raw:
            assert self._read(end), f"{text!r} did not come: {self.raw!r}"

    def ended(self) -> int:
        """The exit code, once everything has been read."""
        end = time.monotonic() + DEADLINE
        while self._read(end):
            pass
        return self.process.wait(timeout=DEADLINE)

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"nothing came any more: {self.raw!r}"
        try:
            piece = os.read(self._master, 65_536)
        except OSError:
            # Linux says so when nobody has the other end open any more.
            return False
        self.raw += piece
        return bool(piece)


def until(found: Callable[[], Any]) -> Any:
    """Ask again until there is an answer that is not empty."""
    end = time.monotonic() + DEADLINE
    while not (answer := found()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return answer


def speech(text: str, **more: Any) -> Item:
    return {"content": text, **more}


def wants(score: float = 0.9, reason: str = "", **more: Any) -> Item:
    """A bid for the floor."""
    return {"reaction_score": score, "intent_to_speak": True, "reason": reason, **more}


def listens(score: float = 0.4, reason: str = "", **more: Any) -> Item:
    """Silence that is moved enough to keep the meeting going."""
    return {"reaction_score": score, "intent_to_speak": False, "reason": reason, **more}


def draft(
    text: str = "Yes.", entries: Sequence[int] = (1,), confidence: float = 0.8, **more: Any
) -> Item:
    return {"decision": {"text": text, "entries": list(entries)}, "confidence": confidence, **more}


def stand(verdict: str = "support", confidence: float = 0.8, **more: Any) -> Item:
    return {"verdict": verdict, "confidence": confidence, **more}


def position(text: str, confidence: float = 0.5, **more: Any) -> Item:
    return {"position": text, "confidence": confidence, **more}


def write_script(path: Path, seats: Script) -> str:
    """A script file; the word for its platform."""
    lines = []
    for seat, kinds in seats.items():
        lines.append(f"[seats.{seat}]")
        for kind, items in kinds.items():
            for item in items:
                lines.append(f"[[seats.{seat}.{kind}]]")
                lines += [f"{key} = {_toml(value)}" for key, value in item.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"script:{path}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def round_robin(
    seats: Sequence[str], turns: int, *, delay: float = 0.0, stuck: int | None = None
) -> dict[str, dict[str, list[Item]]]:
    """A meeting in which the seats speak in turn, `turns` times in all, and the last one concludes.

    After `stuck` speeches nobody answers any more: whoever does something to the meeting then is surely in time.
    """
    found: dict[str, dict[str, list[Item]]] = {}
    for number, seat in enumerate(seats):
        # Each takes a little longer than the one before, so that answers come one by one.
        late: dict[str, Any] = {"delay": delay * (1 + number / len(seats))} if delay else {}
        waits = [{"delay": 3_600} if turn == stuck else late for turn in range(turns)]
        bids = [
            (
                wants(0.9, f"my turn {turn}", **wait)
                if turn % len(seats) == number
                else listens(reason=f"hears {turn}", **wait)
            )
            for turn, wait in enumerate(waits)
        ]
        last_id = turns + 1
        found[seat] = {
            "position": [position(f"{seat} before the talk", **late)],
            "intent": bids,
            "speech": [
                speech(f"{seat} speaks, turn {turn + 1}", **late)
                for turn in range(turns)
                if turn % len(seats) == number
            ],
            "stand": [stand(position=f"{seat} after the talk", **late)],
            "draft": [draft("So be it.", range(1, last_id + 1), **late)],
        }
    return found


def seat_words(platform: str, seats: Sequence[str]) -> list[str]:
    """The options that give these seats to one platform."""
    return [word for seat in seats for word in ("--seat", f"{seat}={platform}")]


class Leaps:
    """Puts the steady clock of this process forward, and with it the timers of its event loops: patience passes at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        steady = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: steady() + self._ahead)

    def by(self, seconds: float) -> None:
        self._ahead += seconds

    async def once(self, found: Callable[[], object], seconds: float) -> None:
        """By so many seconds, as soon as there is an answer that is not empty."""
        while not found():  # noqa: ASYNC110 - files and processes wake nobody
            await asyncio.sleep(0.02)
        self.by(seconds)


class Guests(Seating):
    """Gives the seats of the platform `mailbox` to participants that a test brings along."""

    def __init__(
        self, home: Path, environ: Mapping[str, str], guests: Mapping[str, Participant]
    ) -> None:
        super().__init__(home, environ)
        self._guests = guests

    def __call__(self, seat: Seat) -> Participant | None:
        return self._guests[seat.id] if seat.id in self._guests else super().__call__(seat)


Says = Callable[[Brief], Awaitable[Answer | NoAnswer]]


class Guest:
    """A participant of a test's own: answers with `says`, keeps what it was sent."""

    def __init__(self, says: Says) -> None:
        self._says = says
        self.briefs: list[Brief] = []
        self._asked: dict[str, asyncio.Event] = {}

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.briefs.append(brief)
        self._first(brief.form.kind).set()
        return await self._says(brief)

    async def asked(self, kind: str) -> None:
        """Until it has been asked for this kind of answer."""
        await self._first(kind).wait()

    def _first(self, kind: str) -> asyncio.Event:
        return self._asked.setdefault(kind, asyncio.Event())


def with_guests(cli: Cli, guests: Mapping[str, Participant]) -> Moot:
    """The library, with a test's participants in these seats."""
    moot = cli.moot()
    moot.seating = Guests(cli.home, cli.environ, guests)
    return moot


def held(work: Coroutine[Any, Any, T]) -> T:
    """Run async work to its end, within the deadline."""

    async def within() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(within())


def record(cli: Cli, session: str = "s") -> str:
    """The session's ledger, record for record."""

    async def work() -> str:
        async with cli.moot() as moot:
            return await moot.export(session, "jsonl")

    return held(work())


def asked(cli: Cli, session: str = "s") -> list[str]:
    """The asks that are outstanding; none for a session that is not there yet."""

    async def work() -> list[str]:
        async with cli.moot() as moot:
            known = {line.session for line in await moot.sessions()}
            return [each.ask.id for each in await moot.asks(session)] if session in known else []

    return held(work())


def timeline(text: str) -> list[dict[str, Any]]:
    """A context ledger's timeline."""
    found = json.loads(text)["timeline"]
    assert isinstance(found, list)
    return found


def facts(jsonl: str) -> list[dict[str, Any]]:
    """The facts of a jsonl export, in order."""
    return [json.loads(json.loads(line)["body"]) for line in jsonl.split("\n")[1:] if line]


def word_stored_cause(fact: Mapping[str, Any]) -> str:
    """The cause of a stored loss in English, as a record in JSON has it."""
    return str(Cause(**fact.get("cause", {})))
