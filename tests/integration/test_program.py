"""Another program, run for real: what it is told, what is read of it, and that nothing of it stays."""

import asyncio
import errno
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moothall.participants import subprocess_runner
from moothall.participants.subprocess_runner import (
    GRACE_SECONDS,
    MARK,
    MAX_COMPLAINT,
    MAX_OUTPUT,
    ProcessResult,
    find_strays,
    run_program,
)

T = TypeVar("T")

PYTHON = (sys.executable, "-I", "-S", "-c")
ENVIRON = {"PATH": os.environ.get("PATH", os.defpath)}
DEADLINE = 120.0

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="whoever leaves the process group is found on Linux only",
)

TRICKS = {
    "quotes": """it's "quoted" 'twice' \\" \\' \\\\""",
    "newlines": "one\ntwo\r\n\tthree\n\n",
    "a command in it": "$(touch x) `touch x` ; touch x & touch x | touch x > x && touch x",
    "variables and patterns": "$HOME ${PATH} %PATH% ~ * ? [a-z] {a,b} !! \\n",
    "flags": "--help",
    "the end of flags": "--",
    "one dash": "-",
    "emoji": "👩‍🔬 🇪🇺 é e\u0301 \U0001f600",
    "Chinese": "我们应该重写吗？“引号”、【括号】",
    "control codes": "\x1b[31mred\x07\x08\x7f\x85\u2028\u202e",
    "spaces": "   ",
    "nothing": "",
}
SPOKEN = {**TRICKS, "100 kB": "x" * 100_000, "3 MB": "长" * 1_000_000, "a zero": "before\0after"}


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


def run(
    folder: Path, *argv: str, words: bytes | None = None, environ: dict[str, str] | None = None
) -> ProcessResult:
    return bounded(
        run_program(
            argv, words=words, folder=folder, environ=ENVIRON if environ is None else environ
        )
    )


def is_running(pid: int) -> bool:
    """Whether it is there and has not only yet to be fetched by its parent."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def is_soon(found: Callable[[], object], *, within: float = DEADLINE) -> bool:
    """Whether it comes true."""
    end = time.monotonic() + within
    while not found():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def written(path: Path) -> str:
    """What a program writes there, as soon as it has."""
    assert is_soon(lambda: path.exists() and path.read_text().endswith("\n")), path
    return path.read_text().strip()


def cancelled(folder: Path, *argv: str, times: int = 1) -> dict[str, int]:
    """Run until `pids` (a JSON object) is written, then cancel. The processes that were written down."""

    async def work() -> dict[str, int]:
        task = asyncio.create_task(run_program(argv, words=None, folder=folder, environ=ENVIRON))
        found: dict[str, int] = json.loads(await asyncio.to_thread(written, folder / "pids"))
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(GRACE_SECONDS / 5)
        with pytest.raises(asyncio.CancelledError):
            await task
        return found

    return bounded(work())


# What it is told


@pytest.mark.parametrize("trick", TRICKS)
def test_an_argument_arrives_word_for_word(tmp_path: Path, trick: str) -> None:
    program = (
        "import os, sys; sys.stdout.buffer.write(os.fsencode(repr(len(sys.argv)) + sys.argv[1]))"
    )
    done = run(tmp_path, *PYTHON, program, TRICKS[trick])
    assert done == ProcessResult(code=0, out=b"2" + TRICKS[trick].encode(), err="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("trick", SPOKEN)
def test_standard_input_arrives_word_for_word(tmp_path: Path, trick: str) -> None:
    words = SPOKEN[trick]
    done = run(tmp_path, "cat", words=words.encode())
    assert (done.code, done.out == words.encode(), done.err) == (0, True, "")
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_told_nothing_reads_an_empty_input(tmp_path: Path) -> None:
    assert run(tmp_path, "cat") == ProcessResult(code=0, out=b"", err="")


def test_a_program_need_not_read_what_it_is_told(tmp_path: Path) -> None:
    assert run(tmp_path, "echo", "done", words=b"x" * 1_000_000) == ProcessResult(
        code=0, out=b"done\n", err=""
    )


def test_the_environment_is_what_was_given_and_the_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "sk-0123456789")
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    given = {"LANG": "C.UTF-8", "COLOUR": "green $(touch x)", MARK: "of the caller's own"}
    first, second = (
        json.loads(run(tmp_path, *PYTHON, program, environ=given).out) for _ in range(2)
    )
    assert first.pop(MARK) != second.pop(MARK)
    assert first == second == {"LANG": "C.UTF-8", "COLOUR": "green $(touch x)"}


def test_it_works_in_the_folder_that_was_given(tmp_path: Path) -> None:
    assert run(tmp_path, "pwd", "-P").out.decode().strip() == str(tmp_path.resolve())


# What is read of it


@pytest.mark.parametrize(
    ("program", "code"),
    [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", -9), ("kill -15 $$", -15)],
)
def test_how_it_ended_is_told(tmp_path: Path, program: str, code: int) -> None:
    told = f"echo out; echo err >&2; {program}"
    assert run(tmp_path, "sh", "-c", told) == ProcessResult(code=code, out=b"out\n", err="err\n")


def test_both_streams_are_read_at_once_and_the_end_of_its_complaints_is_kept(
    tmp_path: Path,
) -> None:
    lines = "for _ in range(1000):\n print('o' * 999)\n print('e' * 999, file=sys.stderr)"
    program = f"import sys\n{lines}\nprint('end', file=sys.stderr)"
    done = run(tmp_path, *PYTHON, program)
    assert (done.code, len(done.out), done.is_flooded) == (0, 1_000_000, False)
    assert (len(done.err), done.err[-8:]) == (MAX_COMPLAINT, "eee\nend\n")


def test_complaints_in_no_encoding_are_still_text(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.buffer.write(bytes([255, 0, 10])); sys.stderr.buffer.write(bytes([255, 10]))"
    assert run(tmp_path, *PYTHON, program) == ProcessResult(
        code=0, out=b"\xff\x00\n", err="\ufffd\n"
    )


def test_as_much_as_is_taken_is_no_flood(tmp_path: Path) -> None:
    done = run(tmp_path, "head", "-c", str(MAX_OUTPUT), "/dev/zero")
    assert (done.code, len(done.out), done.is_flooded) == (0, MAX_OUTPUT, False)
    assert run(tmp_path, "head", "-c", str(MAX_OUTPUT + 1), "/dev/zero").is_flooded


def test_a_flood_is_stopped(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", "echo $$ > pid; exec yes")
    assert (done.code, len(done.out), done.is_flooded) == (-signal.SIGTERM, MAX_OUTPUT, True)
    assert is_soon(lambda: not is_running(int(written(tmp_path / "pid"))))


def test_a_flood_is_stopped_at_once(tmp_path: Path) -> None:
    """By what it got to print: a little over the limit, not whatever a second yields."""
    program = (
        "import os, signal\ncount = 0\n"
        "def told(*_):\n open('count', 'w').write(f'{count}\\n')\n os._exit(0)\n"
        "signal.signal(signal.SIGTERM, told)\n"
        "while True:\n count += os.write(1, b'y' * 65536)"
    )
    assert run(tmp_path, *PYTHON, program).is_flooded
    assert int(written(tmp_path / "count")) < 10 * MAX_OUTPUT


# What cannot be run


def test_a_missing_program_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(tmp_path, "no-such-program-anywhere")


def test_a_file_that_may_not_be_executed_is_an_oserror(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(PermissionError):
        run(tmp_path, str(tmp_path / "plain"))


def test_a_file_that_is_no_program_is_an_oserror_and_no_shell_reads_it(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("touch x\n")
    (tmp_path / "notes").chmod(0o755)
    with pytest.raises(OSError) as told:
        run(tmp_path, str(tmp_path / "notes"))
    assert told.value.errno == errno.ENOEXEC
    assert not (tmp_path / "x").exists()


def test_an_argument_that_is_too_long_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(OSError) as told:
        run(tmp_path, "echo", "x" * 3_000_000)
    assert told.value.errno == errno.E2BIG


# Nothing of it stays


def test_a_program_that_hangs_ends_with_the_callers_deadline(tmp_path: Path) -> None:
    async def work() -> None:
        async with asyncio.timeout(None) as deadline:

            async def passes() -> None:
                await asyncio.to_thread(written, tmp_path / "pid")
                deadline.reschedule(asyncio.get_running_loop().time())

            passing = asyncio.create_task(passes())
            await run_program(
                ["sh", "-c", "echo $$ > pid; exec sleep 600"],
                words=b"x" * 1_000_000,
                folder=tmp_path,
                environ=ENVIRON,
            )
            await passing

    with pytest.raises(TimeoutError):
        bounded(work())
    assert is_soon(lambda: not is_running(int(written(tmp_path / "pid"))))


def test_it_is_asked_kindly_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM; what it does on its way out is waited for."""
    monkeypatch.setattr(subprocess_runner, "GRACE_SECONDS", DEADLINE)
    trap = "trap 'sleep 0.1; echo goodbye > last; exit 0' TERM"
    script = f"""{trap}; echo "{{\\"main\\": $$}}" > pids; while true; do sleep 0.05; done"""
    pids = cancelled(tmp_path, "sh", "-c", script)
    assert (tmp_path / "last").read_text() == "goodbye\n"
    assert not is_running(pids["main"])


STUBBORN = """
import json, os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    time.sleep(600)
afar = os.fork()
if afar == 0:
    os.setsid()
    time.sleep(600)
with open("pids.part", "w") as file:
    file.write(json.dumps({"main": os.getpid(), "child": child, "afar": afar}) + "\\n")
os.rename("pids.part", "pids")
"""


def left(pids: dict[str, int]) -> list[str]:
    """Which of them stay; those are ended."""
    is_soon(lambda: not any(is_running(pid) for pid in pids.values()))
    found = [name for name, pid in pids.items() if is_running(pid)]
    for name in found:
        os.kill(pids[name], signal.SIGKILL)
    # What a run that was broken off left open is let go here and not in the middle of another test.
    gc.collect()
    return found


@linux
def test_whoever_heeds_nothing_is_killed_with_its_children_wherever_they_went(
    tmp_path: Path,
) -> None:
    pids = cancelled(tmp_path, *PYTHON, f"{STUBBORN}\ntime.sleep(600)")
    assert left(pids) == []


@linux
@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_children_that_outlive_it_are_ended_and_hold_nothing_up(tmp_path: Path, end: str) -> None:
    """They hold its output open; what it had printed is read all the same."""
    done = run(tmp_path, *PYTHON, f"{STUBBORN}\nprint('said', flush=True)\n{end}")
    assert (done.out, done.is_flooded) == (b"said\n", False)
    assert left(json.loads(written(tmp_path / "pids"))) == []


@linux
def test_a_flood_ends_with_its_children(tmp_path: Path) -> None:
    done = run(tmp_path, *PYTHON, f"{STUBBORN}\nwhile True:\n os.write(1, b'y' * 65536)")
    assert done.is_flooded
    assert left(json.loads(written(tmp_path / "pids"))) == []


@linux
def test_a_second_cancellation_leaves_nothing_behind_either(tmp_path: Path) -> None:
    """Such as the one with which a loop ends that is closed while it sweeps."""
    pids = cancelled(tmp_path, *PYTHON, f"{STUBBORN}\ntime.sleep(600)", times=2)
    assert left(pids) == []


@linux
def test_a_program_that_is_called_off_while_it_starts_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may run for long before the loop of a busy machine hears of it."""

    async def work() -> dict[str, int]:
        starts, is_heard_of, go = asyncio.create_subprocess_exec, asyncio.Event(), asyncio.Event()

        async def started_late(*words: Any, **more: Any) -> asyncio.subprocess.Process:
            process = await starts(*words, **more)
            is_heard_of.set()
            await go.wait()
            return process

        monkeypatch.setattr(asyncio, "create_subprocess_exec", started_late)
        program = [*PYTHON, f"{STUBBORN}\ntime.sleep(600)"]
        task = asyncio.create_task(
            run_program(program, words=None, folder=tmp_path, environ=ENVIRON)
        )
        await is_heard_of.wait()
        found: dict[str, int] = json.loads(await asyncio.to_thread(written, tmp_path / "pids"))
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return found

    assert left(bounded(work())) == []


@linux
def test_a_runs_processes_are_found_by_their_mark_alone(tmp_path: Path) -> None:
    async def work() -> None:
        program = [
            *PYTHON,
            f"{STUBBORN}\nopen('mark', 'w').write(os.environ['{MARK}'] + '\\n')\ntime.sleep(600)",
        ]
        task = asyncio.create_task(
            run_program(program, words=None, folder=tmp_path, environ=ENVIRON)
        )
        mark = await asyncio.to_thread(written, tmp_path / "mark")
        assert set(find_strays(mark)) == set(json.loads(written(tmp_path / "pids")).values())
        assert find_strays(mark[:-1]) == []
        task.cancel()
        await asyncio.wait([task])
        assert await asyncio.to_thread(is_soon, lambda: not find_strays(mark))

    bounded(work())


@linux
def test_no_file_stays_open(tmp_path: Path) -> None:
    def open_files() -> int:
        return sum(1 for _ in os.scandir("/proc/self/fd"))

    async def work() -> None:
        await run_program(["true"], words=None, folder=tmp_path, environ=ENVIRON)
        await asyncio.sleep(0.05)
        before = open_files()
        await run_program(["cat"], words=b"x" * 100_000, folder=tmp_path, environ=ENVIRON)
        await run_program(["true"], words=b"x" * 1_000_000, folder=tmp_path, environ=ENVIRON)
        with pytest.raises(FileNotFoundError):
            await run_program(
                ["no-such-program-anywhere"], words=b"x", folder=tmp_path, environ=ENVIRON
            )
        with suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await run_program(
                    ["sleep", "600"], words=b"x" * 1_000_000, folder=tmp_path, environ=ENVIRON
                )
        assert await asyncio.to_thread(is_soon, lambda: open_files() <= before)

    bounded(work())


def test_many_run_at_once_and_each_has_its_own_words(tmp_path: Path) -> None:
    async def work() -> list[bytes]:
        runs = (
            run_program(["cat"], words=f"{number}".encode(), folder=tmp_path, environ=ENVIRON)
            for number in range(20)
        )
        return [done.out for done in await asyncio.gather(*runs)]

    assert bounded(work()) == [f"{number}".encode() for number in range(20)]
