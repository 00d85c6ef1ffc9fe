"""Takes the text of a PDF, in a child process with limits: such a file can be made to cost hours, or all memory."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from moothall.domain.safe_text import one_line, shorten_text
from moothall.domain.topic import MAX_FILE_LENGTH
from moothall.errors import BadSetting, MissingExtra, describe_install

CPU_SECONDS: Final = 20
MEMORY: Final = 512 * 1024 * 1024
DEADLINE_SECONDS: Final = 60.0
"""How long one file may take on a busy machine, and where processor time cannot be limited."""
MAX_CHILDREN: Final = 2
MAX_WAITING: Final = 32
WAIT_SECONDS: Final = 120.0
MAX_FAULT_LENGTH: Final = 200
PASSED_VARIABLES: Final = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter may need to start; the rest of the environment holds keys."""
MAX_PRINTED: Final = 16 * MAX_FILE_LENGTH
"""Bytes that are read from a child: a letter is up to twelve of them in JSON."""
CHILD: Final = Path(__file__).with_name("pdf_child.py")

_children = threading.BoundedSemaphore(MAX_CHILDREN)
_waiting = threading.BoundedSemaphore(MAX_WAITING)


def extract_pdf(label: str, raw: bytes) -> str:
    """Return the text of a PDF, each page under its number; it blocks, and is called on a thread.

    Raises MissingExtra, and BadSetting for a file that is damaged, costs too much or holds no text.
    """
    if find_spec("pypdf") is None:
        raise MissingExtra(
            f"{label} is a PDF, and reading one needs an extra package: {describe_install('pdf')}"
        )
    with _take_turn(label):
        result = _parse_result(_run_child(raw))
    if result.get("is_too_long"):
        raise BadSetting(
            f"{label} is too large; at most {MAX_FILE_LENGTH} characters of a file are taken"
        )
    if result.get("is_too_costly"):
        raise BadSetting(
            f"{label} cannot be read as a PDF: it takes more than "
            f"{CPU_SECONDS} s or {MEMORY // 1024**2} MB; give its text"
        )
    if "fault" in result:
        fault = shorten_text(one_line(str(result["fault"])), MAX_FAULT_LENGTH)
        raise BadSetting(f"{label} cannot be read as a PDF: {fault}")
    pages = [str(page) for page in result["pages"]]
    if not any(pages):
        raise BadSetting(f"{label} holds no text, only pictures of pages; give its text")
    return "\n".join(f"[page {number}]\n{page}" for number, page in enumerate(pages, 1))


@contextmanager
def _take_turn(label: str) -> Iterator[None]:
    """Wait until few enough PDFs are read; raises BadSetting where too many wait already, or for too long."""
    busy = BadSetting(f"{label} cannot be read now: too many PDFs are being read; try again")
    if not _waiting.acquire(blocking=False):
        raise busy
    try:
        if not _children.acquire(timeout=WAIT_SECONDS):
            raise busy
        try:
            yield
        finally:
            _children.release()
    finally:
        _waiting.release()


def _run_child(raw: bytes) -> bytes:
    """Return what a child prints; less than all of it where it was ended. Raises BadSetting if none can be started."""
    given = {
        "path": [each for each in sys.path if Path(each).is_absolute()],
        "cpu_seconds": CPU_SECONDS,
        "memory": MEMORY,
        "seconds": DEADLINE_SECONDS,
        "most": MAX_FILE_LENGTH,
    }
    # -I -S: neither this folder, nor the environment, nor what site packages run at each start.
    command = [sys.executable or "python", "-I", "-S", str(CHILD), json.dumps(given)]
    try:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, and no shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ},
            # Ctrl-C is for Moot, which ends the child.
            start_new_session=True,
        )
    except OSError as cause:
        raise BadSetting(f"a PDF cannot be read: no process can be started: {cause}") from cause
    deadline = threading.Timer(DEADLINE_SECONDS, process.kill)
    deadline.daemon = True
    deadline.start()
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # It may end before it has read all.
        with suppress(BrokenPipeError):
            process.stdin.write(raw)
        with suppress(BrokenPipeError):
            process.stdin.close()
        return process.stdout.read(MAX_PRINTED)
    finally:
        process.kill()
        deadline.cancel()
        process.wait()
        process.stdout.close()


def _parse_result(printed: bytes) -> dict[str, Any]:
    """Return the result of a child; one that printed none, or not all of it, came to a limit."""
    try:
        result: dict[str, Any] = json.loads(printed)
    except ValueError:
        return {"is_too_costly": True}
    return result
