"""The command `moot` with its start already behind it. Not a test: `doors.py` starts it.

    python warm.py DESCRIPTOR

It loads the command line once and forks for every request, so that a command takes milliseconds: in a process of its own, with
its own environment, folder, standard streams and exit code, as the installed script would have.
"""

import json
import os
import socket
import sys
import traceback
from contextlib import suppress

from moot.surfaces.cli.main import LazyCommand, main

for command in main.commands.values():
    # Before the first fork: what is loaded here is loaded once.
    if isinstance(command, LazyCommand):
        command.load()


def serve(link: socket.socket) -> None:
    """Answer each request (arguments, environment, folder; three open files beside it) with the exit code."""
    while True:
        head, files, _, _ = socket.recv_fds(link, 16, 3)
        if not head:
            return
        request = json.loads(_exactly(link, int(head)))
        child = os.fork()
        if child == 0:
            link.close()
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


def _become(request: dict[str, object], files: list[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
    words, environ = request["words"], request["environ"]
    assert isinstance(words, list)
    assert isinstance(environ, dict)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(str(request["cwd"]))
    code: object = 0
    try:
        main.main([os.fsdecode(bytes.fromhex(word)) for word in words], prog_name="moot")
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
    serve(socket.socket(fileno=int(sys.argv[1])))
