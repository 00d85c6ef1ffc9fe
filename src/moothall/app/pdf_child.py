"""Reads one PDF from standard input and prints its pages as JSON: a program of its own, which Moot starts and never imports.

A PDF of a few kilobytes can keep its reader busy for hours, or fill the memory: here that ends this process, and no other. It
starts without site packages and without the environment, and imports the parser alone, so that a small file is read quickly.
"""

import io
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LOOK_SECONDS = 0.5


class TooLong(Exception):
    """There is more text than is taken."""


def main(words: str) -> None:
    given = json.loads(words)
    watch = threading.Thread(target=end_in_time, args=(given["seconds"],), daemon=True)
    watch.start()
    limit_resources(given["cpu_seconds"], given["memory"])
    # What the parent finds: its search path is an argument, because neither the environment nor user folders are looked at.
    sys.path[:] = given["path"]
    result = read_pdf(sys.stdin.buffer.read(), given["most"])
    sys.stdout.write(json.dumps(result))


def limit_resources(cpu_seconds: int, memory: int) -> None:
    """Limit this process as far as the system can; where it cannot, the deadline is the limit."""
    try:
        import resource
    except ImportError:
        return
    limits = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, memory),
    )
    for kind, most in limits:
        try:
            hard = resource.getrlimit(kind)[1]
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (allowed, allowed))
        except (OSError, ValueError):
            continue


def end_in_time(seconds: float) -> None:
    """End this process after its time, and soon after its parent, which may be killed."""
    parent = os.getppid()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)


def read_pdf(raw: bytes, most: int) -> dict[str, Any]:
    """Return the text of each page, or why there is none."""
    try:
        from pypdf import PdfReader

        # A faulty file is one sentence of the parent.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        count = count_length(most)
        pages = []
        for page in PdfReader(io.BytesIO(raw)).pages:
            text = page.extract_text(visitor_text=count)
            pages.append(text.strip())
            if sum(map(len, pages)) > most:
                raise TooLong
    except TooLong:
        return {"is_too_long": True}
    except MemoryError:
        return {"is_too_costly": True}
    except Exception as cause:  # noqa: BLE001 - a parser's failures at strangers' files are of any kind
        return {"fault": str(cause) or type(cause).__name__}
    return {"pages": pages}


def count_length(most: int) -> Callable[..., None]:
    """Return what the parser calls with each piece of text: one page may hold more than memory does."""
    length = 0

    def count(text: str, *_: object) -> None:
        nonlocal length
        length += len(text)
        if length > most:
            raise TooLong

    return count


if __name__ == "__main__":
    main(sys.argv[1])
