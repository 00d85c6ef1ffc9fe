"""Runs another program: without a shell, with limited output, and without leaving processes behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

MAX_OUTPUT: Final = 4_000_000
MAX_COMPLAINT: Final = 20_000
"""The most bytes that are stored of its output, and of its error output (the end of it)."""

GRACE_SECONDS: Final = 1.0
"""How long it may take to react to SIGTERM, and how long its children may keep its output open after it has ended."""

MARK: Final = "MOOT_RUN"
"""The variable that identifies the processes of a run, including those that left its process group."""

LOOK_SECONDS: Final = 0.02
MAX_SWEEPS: Final = 5

_PIECE: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """The result of a run. `is_flooded`: it printed too much and was stopped."""

    code: int
    out: bytes
    err: str
    is_flooded: bool = False


async def run_program(
    argv: Sequence[str], *, words: bytes | None, folder: Path, environ: Mapping[str, str]
) -> ProcessResult:
    """Run a program to its end, with `words` on its standard input. Raises OSError if it cannot be started.

    The caller sets the deadline and cancels; in any case the whole process group ends with this call.
    """
    process, mark = await start_program(
        argv, folder=folder, environ=environ, is_fed=words is not None
    )
    out, err = BoundedBuffer(MAX_OUTPUT), BoundedBuffer(MAX_COMPLAINT)
    assert process.stdout is not None
    assert process.stderr is not None
    reading = [
        asyncio.create_task(out.read_stream(process.stdout)),
        asyncio.create_task(err.read_stream(process.stderr)),
        asyncio.create_task(_write_stdin(process, words)),
    ]
    try:
        # Until it has ended, or has printed too much: `process.wait` would also wait for any process that still holds its output.
        while process.returncode is None and not out.is_over:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        if not out.is_over:
            # Children that outlive it may keep its output open forever.
            await asyncio.wait(reading, timeout=GRACE_SECONDS)
    finally:
        await _end_processes(process, mark)
        for task in reading:
            task.cancel()
        _close_pipes(process)
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return ProcessResult(
        code=code,
        out=bytes(out.stored),
        err=err.stored.decode("utf-8", "replace"),
        is_flooded=out.is_over,
    )


async def start_program(
    argv: Sequence[str], *, folder: Path, environ: Mapping[str, str], is_fed: bool, mark: str = ""
) -> tuple[asyncio.subprocess.Process, str]:
    """Start a program; returns it with the mark of its processes. Raises OSError if it cannot be started.

    The caller ends it with `end_program`. No line of its output may be longer than `MAX_OUTPUT`. Processes that have the `mark`
    already are those of a run that was killed: they are ended.
    """
    if mark:
        kill_strays(mark)
    mark = mark or uuid4().hex
    start = asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE if is_fed else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=MAX_OUTPUT,
        cwd=folder,
        env={**environ, MARK: mark},
        # A new session makes it the leader of a process group, which can be signalled as a whole.
        start_new_session=True,
    )
    starting = asyncio.create_task(start)
    try:
        return await asyncio.shield(starting), mark
    except asyncio.CancelledError:
        await _end_started_program(starting, mark)
        raise


async def end_program(process: asyncio.subprocess.Process, mark: str) -> None:
    """End a program with its children, wherever they are, and close its pipes."""
    try:
        await _end_processes(process, mark)
    finally:
        _close_pipes(process)


async def _end_started_program(
    starting: "asyncio.Task[asyncio.subprocess.Process]", mark: str
) -> None:
    """End a program that was called off while it started: it runs before we hear of it, and may have children already."""
    try:
        with suppress(OSError):
            await end_program(await starting, mark)
    finally:
        kill_strays(mark)


class BoundedBuffer:
    """Keeps the end of a stream, up to a limit; the rest is read and dropped, so that the writer is never blocked."""

    def __init__(self, most: int) -> None:
        self.stored = bytearray()
        self.is_over = False
        self._most = most

    async def read_stream(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(_PIECE):
            self.stored += piece
            if len(self.stored) > self._most:
                del self.stored[: len(self.stored) - self._most]
                self.is_over = True


async def _write_stdin(process: asyncio.subprocess.Process, words: bytes | None) -> None:
    if process.stdin is None or words is None:
        return
    # The program may end without reading its input.
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(words)
        await process.stdin.drain()
    process.stdin.close()


async def _end_processes(process: asyncio.subprocess.Process, mark: str) -> None:
    """End the process group and the processes that left it; first with SIGTERM, then with SIGKILL."""
    try:
        if process.returncode is None:
            _signal_group(process.pid, signal.SIGTERM)
            await _wait_for_exit(process)
    finally:
        # No await here: a second cancellation must not leave processes behind.
        _signal_group(process.pid, signal.SIGKILL)
        kill_strays(mark)
    await _wait_for_exit(process)


def kill_strays(mark: str) -> None:
    """Kill the processes that left the group; repeated while there are any, because they may fork in the meantime."""
    for _ in range(MAX_SWEEPS):
        strays = find_strays(mark)
        for pid in strays:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not strays:
            return


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """Close the remaining pipes: an escaped child may still hold their other ends."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _wait_for_exit(process: asyncio.subprocess.Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_SECONDS):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def find_strays(mark: str) -> list[int]:
    """Return all processes of a run, wherever they are. Only on Linux, by the environment in /proc."""
    if not sys.platform.startswith("linux"):
        return []
    needle = f"{MARK}={mark}".encode()
    strays = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    strays.append(int(entry.name))
    return strays
