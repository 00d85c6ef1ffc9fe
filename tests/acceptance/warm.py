"""The command `moot` with its start already behind it. Not a test: `doors.py` starts it.

    python warm.py DESCRIPTOR

It loads the command line once and forks for every caller of a listening socket, and for each of a caller's requests, so that a
command takes milliseconds: in a process of its own, with its own environment, folder, standard streams and exit code, as the
installed script would have. It ends when its last caller has gone. A command that runs beside its test (a server) has a fourth
open file, to which its process id is written and, when it has ended, its exit code. A request may name a Python file that is run
in place of the command, and say that the streams are a terminal, which becomes the command's own.
"""

import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import socket
import sys
import tempfile
import termios
import threading
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import moothall
from moothall.app.panels import index_presets
from moothall.app.plugins import load_kinds, load_plugins
from moothall.domain.safe_text import LatePattern
from moothall.features.demos.shipped import list_demos
from moothall.participants.semantic_similarity import encode_texts
from moothall.surfaces.api.method import ApiModel
from moothall.surfaces.api.methods import TABLE, add_other_methods
from moothall.surfaces.cli.main import LazyCommand, main
from moothall.surfaces.rpc import build_document

# Before the first fork: what is loaded here is loaded once.
for command in main.commands.values():
    if isinstance(command, LazyCommand):
        command.load()
for module in pkgutil.walk_packages(moothall.__path__, "moothall."):
    importlib.import_module(module.name)
LIBRARIES = (
    "mcp.client.streamable_http",
    "mcp.server.streamable_http_manager",
    "pydantic_ai.direct",
    "pydantic_ai.models.openai",
    "uvicorn",
)
PLANNED = ("--panel", "duo", "--model", "mailbox", "--no-check", "--dry-run")
USED_FIRST = (
    *(["demo", demo.name, "--pace", "fast", "--session", demo.name] for demo in list_demos("en")),
    ["demo", "debate", "--pace", "fast", "--language", "zh"],
    ["list"],
    ["list", "--json"],
    ["show", "debate"],
    ["show", "debate", "--json"],
    ["export", "debate", "html"],
    ["export", "debate", "minutes"],
    ["run", "Do we keep PostgreSQL or move to SQLite?", *PLANNED],
    ["run", "Do we ship on Friday?", *PLANNED, "--protocol", "debate", "--json"],
    ["run", "How many people will come?", *PLANNED, "--protocol", "consensus", "--json"],
    ["run", "要在周五发布吗？", *PLANNED, "--language", "zh", "--json"],
    ["swarm", "How do we double the users?", "--model", "mailbox", "--no-check", "--dry-run"],
    ["decisions", "record", "ada", "Which cache?", "LRU", "--confidence", "0.8"],
    ["decisions", "search", "cache"],
    ["decisions"],
    ["trust"],
    ["verify"],
)
for library in LIBRARIES:
    importlib.import_module(library)
# Reading the encoder's weights takes longer than all else that most commands do.
encode_texts(["What is the question?"])
# What is built at its first use (schemas, patterns, texts) is the same in every process, and most of the work of a short command.
with (
    tempfile.TemporaryDirectory() as folder,
    redirect_stdout(io.StringIO()),
    redirect_stderr(io.StringIO()),
):
    os.environ.update(MOOT_HOME=folder, MOOT_CONFIG=os.devnull)
    for words in USED_FIRST:
        try:
            main.main(words, prog_name="moot")
        except SystemExit as end:
            if end.code != 0:
                raise RuntimeError(f"{words} ends with {end.code}") from end
# What a process builds when it first uses it, it would build again in each test: patterns, and the forms of calls.
for found in gc.get_objects():
    if type(found) is LatePattern:
        assert found.pattern
shapes = [ApiModel]
for shape in shapes:
    shape.model_rebuild()
    shapes += shape.__subclasses__()
build_document(TABLE)
# A thread that lives on would hold what no fork could let go.
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join(timeout=60)
assert threading.active_count() == 1, threading.enumerate()
# No fork looks through all of this for garbage, which would also copy it page by page.
gc.collect()
gc.freeze()


def answer_callers(door: socket.socket) -> None:
    """Serve whoever connects, until the last has gone."""
    path, callers, parent = door.getsockname(), 0, os.getppid()
    door.settimeout(0.2)
    try:
        while True:
            with suppress(TimeoutError):
                link, _ = door.accept()
                callers += 1
                if os.fork() == 0:
                    door.close()
                    link.settimeout(None)
                    with suppress(ConnectionError):
                        serve(link)
                    os._exit(0)
                link.close()
            while callers and os.waitpid(-1, os.WNOHANG)[0]:
                callers -= 1
                if not callers:
                    return
            # Whoever started it before it was needed has ended without a call.
            if not callers and os.getppid() != parent:
                return
    finally:
        Path(path).unlink()
        door.close()


def serve(link: socket.socket) -> None:
    """Answer each request (arguments, environment, folder; three open files beside it) with the exit code."""
    link.sendall(b"ready\n")
    while True:
        head, files, _, _ = socket.recv_fds(link, 16, 4)
        if not head:
            return
        request = json.loads(_exactly(link, int(head)))
        child = os.fork()
        if child == 0:
            link.close()
            if len(files) == 4:
                _run_beside(request, files)
            _become(request, files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        link.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _exactly(link: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += link.recv(size - len(found))
    return found


def _run_beside(request: dict[str, object], files: list[int]) -> None:
    if os.fork() > 0:
        os._exit(0)
    told = socket.socket(fileno=files.pop())
    command = os.fork()
    if command == 0:
        told.close()
        _become(request, files)
    for file in (0, 1, 2, *files):
        os.close(file)
    with suppress(OSError):
        told.sendall(f"{command}\n".encode())
    _, status = os.waitpid(command, 0)
    with suppress(OSError):
        told.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(request: dict[str, object], files: list[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # As Python opens the streams of a terminal.
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    given, environ, program = request["words"], request["environ"], request["program"]
    assert isinstance(given, list)
    assert isinstance(environ, dict)
    words = [os.fsdecode(bytes.fromhex(word)) for word in given]
    os.environ.clear()
    os.environ.update(environ)
    if path := environ.get("PYTHONPATH"):
        # As at the start of a process: what other distributions bring is looked for there as well.
        sys.path[:0] = path.split(os.pathsep)
        load_plugins.cache_clear()
        load_kinds.cache_clear()
        index_presets.cache_clear()
        add_other_methods()
    os.chdir(str(request["cwd"]))
    code: object = 0
    try:
        if program:
            sys.argv = [str(program), *words]
            runpy.run_path(str(program), run_name="__main__")
        else:
            main.main(words, prog_name="moot")
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    answer_callers(socket.socket(fileno=int(sys.argv[1])))
